import { errorCode } from '../base/errors/stint-error.ts'
import type { SecretGate } from '../secrets/index.ts'
import type { HeldSession } from './driver.ts'

/** Makes what a session holds now the place where the next resume begins. */
export async function takeSnapshot(held: HeldSession, gate: SecretGate): Promise<void> {
  const { state } = held
  await held.snapshot(state, (ext) => gate.stringify(state.slots.get(ext)?.value))
}

/** The same where a failure does not matter: a snapshot is a cache, and without it the next resume only takes longer. */
export async function trySnapshot(held: HeldSession, gate: SecretGate): Promise<boolean> {
  try {
    await takeSnapshot(held, gate)
    return true
  } catch (error) {
    if (errorCode(error) === 'FENCED') throw error
    return false
  }
}
