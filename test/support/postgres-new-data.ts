import { execFile, spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresPrograms, serverParent } from './postgres-binaries.ts'

const run = promisify(execFile)

let made: Promise<string> | undefined

/**
 * Puts the files of a new server into `data`. They are made once in a process: `initdb` takes three times as
 * long as copying its files.
 */
export async function copyNewData(data: string, programs: PostgresPrograms): Promise<void> {
  made ??= makeData(programs)
  // Keeps the owner and the mode of each file.
  await run('cp', ['-a', await made, data])
}

async function makeData({ initdb, env, uid, gid }: PostgresPrograms): Promise<string> {
  const directory = realpathSync(mkdtempSync(join(serverParent(), 'stint-pg-new-')))
  removeWithProcess(directory)
  const data = join(directory, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (uid !== undefined && gid !== undefined) for (const path of [directory, data]) chownSync(path, uid, gid)
  const flags = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--no-locale', '--no-sync']
  const args = ['-D', data, ...flags, '--wal-segsize=1', '--no-instructions']
  await run(initdb, args, { env, uid, gid, cwd: directory })
  return data
}

/** Removes a directory when this process ends, even if it is killed: the kernel then closes the pipe. */
function removeWithProcess(directory: string): void {
  const script = 'cat > /dev/null; rm -rf "$1"'
  const keeper = spawn('sh', ['-c', script, 'sh', directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  keeper.unref()
  ;(keeper.stdin as unknown as { unref(): void }).unref()
}
