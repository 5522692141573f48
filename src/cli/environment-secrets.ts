import { secretsFromEnvironment } from '../secrets/environment.ts'
import { SecretGate } from '../secrets/gate.ts'
import type { SecretRef } from '../secrets/reference.ts'
import { resolveSecret } from '../secrets/resolve.ts'

/** The secrets that variables hold, by what their names say, registered with a gate. Those that cannot be looked for are left out. */
export function environmentSecrets(gate = new SecretGate()): { ref: SecretRef; value: string }[] {
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

/** A text from the command line without the secrets of the environment and without tokens: a claim shows it to everybody. */
export function withoutEnvironmentSecrets(text: string): string {
  const gate = new SecretGate()
  environmentSecrets(gate)
  return gate.text(text)
}
