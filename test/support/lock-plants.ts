import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { acquireLeaseSync, type Lease } from '../../src/lease/lease.ts'
import { homeRegister } from '../../src/lease/file-register.ts'

export type LockKind = 'lease' | 'read-then-write' | 'proper-lockfile'

export interface Plant {
  plant: () => Promise<void>
  end?: () => void
}

/** How to leave each kind of lock as a holder that died would. */
export const plants: Record<LockKind, (directory: string) => Plant> = {
  lease: (directory) => {
    const register = homeRegister({ STINT_HOME: join(directory, 'home') })
    const workspace = join(directory, 'workspace')
    let planted = 0
    let last: Lease | undefined
    // It comes a round late, so it finds nothing of its own: a slow writer, whose epoch may be long gone.
    const end = () => void last?.releaseSync()
    return {
      async plant() {
        end()
        const holder = spawn('sleep', ['600'], { stdio: 'ignore' })
        await once(holder, 'spawn')
        try {
          // Every earlier holder has let go, is dead or knows that it has lost it: nobody waits for that.
          last = acquireLeaseSync({ sessionId: `dead-${++planted}`, workspace, register, pid: holder.pid })
        } finally {
          holder.kill('SIGKILL')
          await once(holder, 'exit')
        }
      },
      end,
    }
  },
  'read-then-write': (directory) => ({
    async plant() {
      const record = { schema_version: 1, session_id: 'dead', pid: 1, acquired_at: 1, ttl_ms: 1 }
      writeFileSync(join(directory, 'seed.json'), JSON.stringify(record))
    },
  }),
  'proper-lockfile': (directory) => ({
    async plant() {
      const path = join(directory, 'proper.lock')
      mkdirSync(path, { recursive: true })
      utimesSync(path, 1, 1)
    },
  }),
}
