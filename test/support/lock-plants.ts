import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeStore } from '../../src/lease/file-register.ts'
import { acquireLease, type Lease } from '../../src/lease/lease.ts'

export type LockKind = 'lease' | 'read-then-write' | 'proper-lockfile'

export interface Plant {
  plant: () => Promise<void>
  end?: () => Promise<void>
}

/** Leaves a lock of each kind as a holder that died would. */
export const plants: Record<LockKind, (directory: string) => Plant> = {
  lease: (directory) => {
    const store = homeStore({ STINT_HOME: join(directory, 'home') })
    const workspace = join(directory, 'workspace')
    let planted = 0
    let last: Lease | undefined
    // Releases a round late, like a slow writer whose epoch was deleted long ago: it finds nothing to
    // release.
    const end = async () => void (await last?.release())
    return {
      async plant() {
        await end()
        const holder = spawn('sleep', ['600'], { stdio: 'ignore' })
        await once(holder, 'spawn')
        try {
          // No wait is needed: every earlier holder has released, is dead or has lost the lease.
          last = await acquireLease({ sessionId: `dead-${++planted}`, workspace, store, pid: holder.pid })
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
