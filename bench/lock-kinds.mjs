// The locks to compare. Each function opens one in a directory and returns `take()`, which returns a function
// that releases the lock, or undefined while another process holds it. A lease of stint waits by itself, and
// returns promises. The sync lock of proper-lockfile, and SQLite without its busy handler, cannot wait: the
// caller tries again.
import { writeFileSync } from 'node:fs'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

export const lockKinds = {
  stint: async (directory, library, session) => {
    const { acquireLease, findWorkspace } = await import(library)
    process.env.STINT_HOME = join(directory, 'home')
    mkdirSync(join(directory, 'work'), { recursive: true })
    const workspace = findWorkspace(join(directory, 'work'))
    // Without a process: the contenders are children of the holder's, and would share its claim.
    const pid = session === 'holder' ? null : process.pid
    const options = { workspace, sessionId: session, pid, wait: 60_000 }
    return async () => {
      try {
        const lease = await acquireLease(options)
        return () => lease.release()
      } catch (error) {
        if (error.code === 'LOCK_HELD') return undefined
        throw error
      }
    }
  },
  'proper-lockfile sync': async (directory) => {
    const { default: lockfile } = await import('proper-lockfile')
    const file = join(directory, 'file')
    writeFileSync(file, '', { flag: 'a' })
    return () => {
      try {
        return lockfile.lockSync(file)
      } catch (error) {
        if (error.code === 'ELOCKED') return undefined
        throw error
      }
    }
  },
  'better-sqlite3 BEGIN IMMEDIATE': async (directory) => {
    const { default: Database } = await import('better-sqlite3')
    const database = new Database(join(directory, 'lock.db'), { timeout: 0 })
    const [begin, rollback] = ['BEGIN IMMEDIATE', 'ROLLBACK'].map((sql) => database.prepare(sql))
    return () => {
      try {
        begin.run()
        return () => rollback.run()
      } catch (error) {
        if (error.code === 'SQLITE_BUSY') return undefined
        throw error
      }
    }
  },
}
