import { succeeds } from '../base/errors/if-possible.ts'
import { minSecretBytes } from './forms.ts'
import { SecretGate } from './gate.ts'
import type { SecretRef } from './secret-ref.ts'

const secretName = /TOKEN|SECRET|PASSWORD|_KEY$/i
/** `MAX_TOKENS=128000` counts tokens. */
const tokenCount = { name: /TOKENS/i, value: /^\d+$/ }
/** `SECRETS_DIR=/run/secrets` and `SSH_KEY_FILE=~/.ssh/id` say where a secret is. */
const secretPath = { name: /_(?:DIR|FILE|PATH)$/i, value: /^[/~.]/ }

/** A secret whose value is known. */
export interface KnownSecret {
  ref: SecretRef
  value: string
}

/** Registers the environment's secrets at a gate. Leaves out a value that a gate refuses: `aaaaaaaa`. */
export function registerEnvironmentSecrets(env: NodeJS.ProcessEnv = process.env): {
  gate: SecretGate
  secrets: KnownSecret[]
} {
  const gate = new SecretGate()
  const secrets = environmentSecretRefs(env)
    .map((ref) => ({ ref, value: env[ref.name] ?? '' }))
    .filter(({ ref, value }) => succeeds(() => gate.register(ref, value)))
  return { gate, secrets }
}

/**
 * Lists the variables whose names say that they hold a secret: `*TOKEN*`, `*SECRET*`, `*PASSWORD*`, `*_KEY`.
 * Leaves out token counts, paths, and values that are too short to search for.
 */
export function environmentSecretRefs(env: NodeJS.ProcessEnv): SecretRef[] {
  // Each read of `process.env` is a call into Node, so test the name first.
  return Object.keys(env)
    .filter((name) => secretName.test(name) && isSecret(name, env[name] ?? ''))
    .map((name) => ({ kind: 'env', name }))
}

const isSecret = (name: string, value: string): boolean =>
  Buffer.byteLength(value) >= minSecretBytes &&
  ![tokenCount, secretPath].some((not) => not.name.test(name) && not.value.test(value))
