import { secretsFromEnvironment } from '../secrets/environment.ts'
import { SecretGate } from '../secrets/gate.ts'
import type { SecretRef } from '../secrets/reference.ts'
import { resolveSecret } from '../secrets/resolve.ts'

/** The secrets that variables hold, by what their names say, for a visit to keep off the disk. What cannot be looked for is left out. */
export function environmentSecrets(): { ref: SecretRef; value: string }[] {
  const gate = new SecretGate()
  return secretsFromEnvironment().flatMap((ref) => {
    try {
      const value = resolveSecret(ref, process.env)
      gate.register(ref, value)
      return [{ ref, value }]
    } catch {
      return []
    }
  })
}
