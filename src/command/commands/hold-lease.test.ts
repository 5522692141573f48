import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { LockWorld } from '../../../test/support/lock-world.ts'
import type { CommandContext } from '../context.ts'
import { acquireLease } from '../../lease/index.ts'
import { holdLease } from './hold-lease.ts'
import { openClaims } from '../../lease/commands/lock-options.ts'

afterEach(() => void vi.unstubAllEnvs())

test('a program that cannot join the lease has lost it at once', async () => {
  await using world = new LockWorld()
  vi.stubEnv('STINT_HOME', join(world.tmp, 'home'))
  // A held lease sets these, for the children of the run.
  for (const name of ['STINT_FENCE', 'STINT_SESSION_ID', 'STINT_WORKSPACE']) vi.stubEnv(name, undefined)
  const releases: (() => void)[] = []
  const context = {
    sessionId: 'mine',
    signal: new AbortController().signal,
    onRelease: (hook: () => void) => void releases.push(hook),
    warn: () => {},
  } as Partial<CommandContext> as CommandContext
  const none = { ttl: undefined, wait: undefined, purpose: undefined, 'on-lost': undefined }
  const options = { ...none, path: [], 'no-undo': true }
  const held = await holdLease(context, options)
  const claims = await openClaims({}, () => {})
  await claims.release({ sessionId: 'mine' })
  const theirs = await acquireLease({ sessionId: 'theirs' })
  await held.join(process.pid)
  await expect(Promise.race([held.lost, 'not yet'])).rejects.toMatchObject({ code: 'LOCK_LOST' })
  await theirs.release()
  for (const release of releases) release()
})
