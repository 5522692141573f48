import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Makes a directory for the files of this run in `BENCH_TMP` or the system's temp directory; removed at exit.
 *
 * `tmp` in it is the temp directory under test. Its path never changes (a peer reads TMPDIR only once), but
 * `renew()` replaces it with a new, empty directory. Call it before every sample that creates or deletes many
 * files: ext4 without a journal skips inodes deleted in the last minutes, so that in one directory every
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
    // Under a new name: ext4 chooses the part of the disk for a directory's inodes by its name.
    mkdirSync(join(base, `new-${used}`))
    renameSync(join(base, `new-${used}`), tmp)
    return tmp
  }
  Object.assign(process.env, { TMPDIR: tmp, STINT_TMP_ROOT: tmp })
  return { parent, base, tmp, renew }
}

/** Makes ext4 place the directories in this one far from each other; no effect on other file systems. */
function spreadDirectories(path) {
  try {
    execFileSync('chattr', ['+T', path], { stdio: 'ignore' })
  } catch {
    // There is no chattr, or this is another file system.
  }
}
