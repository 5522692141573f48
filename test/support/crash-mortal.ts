import type { Disk } from '../../src/base/fs/disk.ts'
import { changingCalls, type CrashDisk } from './crash-disk.ts'
import type { Wrap } from './crash-simulation.ts'
import { passOn } from './later-turns.ts'

/**
 * A process that is killed before one of its changes to the disk. The machine runs on, with its page cache.
 */
export interface MortalLife {
  wrap: Wrap
  isDead: () => boolean
  onDeath: () => void
}

export function mortal(killAt: number): MortalLife {
  let dead = false
  const life: MortalLife = {
    isDead: () => dead,
    onDeath: () => {},
    wrap: (disk) => {
      const wrapped = passThrough(disk)
      for (const call of changingCalls) {
        const real = disk[call].bind(disk) as (...args: unknown[]) => unknown
        const guarded = (...args: unknown[]): unknown => {
          if (!dead && disk.changes >= killAt) {
            dead = true
            life.onDeath()
          }
          if (dead) throw new Error('killed')
          return real(...args)
        }
        Object.assign(wrapped, { [call]: guarded })
      }
      return wrapped
    },
  }
  return life
}

/** The calls of a simulated disk, which are made at once. */
export type DirectDisk = Pick<CrashDisk, keyof Disk | 'duplicate'>

/** A copy of a disk that passes every call on, so that single calls can be replaced. */
export const passThrough = (disk: CrashDisk): DirectDisk => ({
  ...(passOn(disk) as DirectDisk),
  duplicate: (file) => disk.duplicate(file),
})
