import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Where the benches put their files: a directory of this run, removed at its end, in `BENCH_TMP` or the
 * system's temp directory.
 *
 * `tmp` in it is the temp directory under test. Its path never changes (a peer reads TMPDIR only once), but
 * `renew()` puts a new, empty directory there. Call it before every sample that makes or deletes many files: ext4
 * without a journal steps over inodes deleted in the last minutes, so in one and the same directory every
 * repetition is slower than the one before.
 */
export function openPlace() {
  const parent = realpathSync(process.env.BENCH_TMP || tmpdir())
  const base = mkdtempSync(join(parent, 'stint-bench-'))
  process.on('exit', () => rmSync(base, { recursive: true, force: true, maxRetries: 3 }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => process.exit(128 + constants.signals[signal]))
  }
  spreadDirectories(base)
  const tmp = join(base, 'tmp')
  mkdirSync(tmp)
  let used = 0
  const renew = () => {
    used += 1
    renameSync(tmp, join(base, `used-${used}`))
    // Made under a name of its own: the name decides in which part of the disk its inodes are.
    mkdirSync(join(base, `new-${used}`))
    renameSync(join(base, `new-${used}`), tmp)
    return tmp
  }
  Object.assign(process.env, { TMPDIR: tmp, STINT_TMP_ROOT: tmp })
  return { parent, base, tmp, renew }
}

/** On ext4: directories made in this one are put far from each other. Elsewhere it does nothing. */
function spreadDirectories(path) {
  try {
    execFileSync('chattr', ['+T', path], { stdio: 'ignore' })
  } catch {
    // No chattr, or another file system.
  }
}
