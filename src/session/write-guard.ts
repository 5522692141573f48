import type { SecretGate } from '../secrets/gate.ts'
import type { WriteGuard } from './driver.ts'

/** A guard that keeps out the secrets that are registered with a gate. */
export const guardFor = (gate: SecretGate): WriteGuard => ({
  check: (bytes) => gate.assertClean(bytes, 'a record of the session'),
  redact: (entry) => ({
    ...entry,
    type: gate.text(entry.type),
    json: gate.stringify(JSON.parse(entry.json)),
  }),
})

/** For writes that contain nothing new: an unlock, and a repair of records that were checked when they were written. */
export const noGuard: WriteGuard = { check: () => {}, redact: (entry) => entry }
