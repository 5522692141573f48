import { minSecretBytes } from './forms.ts'
import type { SecretRef } from './reference.ts'

const telling = /TOKEN|SECRET|PASSWORD|_KEY$/i
/** `MAX_TOKENS=128000` counts tokens, it has none. */
const counts = { name: /TOKENS/i, value: /^\d+$/ }
/** `SECRETS_DIR=/run/secrets`, `SSH_KEY_FILE=~/.ssh/id`: where one is, which is no secret. */
const places = { name: /_(?:DIR|FILE|PATH)$/i, value: /^[/~.]/ }

/**
 * References to the variables whose names say that they hold a secret: `*TOKEN*`, `*SECRET*`, `*PASSWORD*`, `*_KEY`.
 * Numbers of tokens and paths to secrets are left out, and so is what is too short to be looked for.
 *
 * @example
 * for (const ref of secretsFromEnvironment()) gate.register(ref, resolveSecret(ref))
 */
export function secretsFromEnvironment(env: NodeJS.ProcessEnv = process.env): SecretRef[] {
  // Each value is a call into Node: only those that matter are asked for.
  return Object.keys(env)
    .filter((name) => telling.test(name) && isSecret(name, env[name] ?? ''))
    .map((name) => ({ kind: 'env', name }))
}

const isSecret = (name: string, value: string): boolean =>
  Buffer.byteLength(value) >= minSecretBytes &&
  ![counts, places].some((not) => not.name.test(name) && not.value.test(value))
