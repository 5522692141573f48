import { succeeds } from '../base/errors/if-possible.ts'
import { minSecretBytes } from './forms.ts'
import { SecretGate } from './gate.ts'
import type { SecretRef } from './secret-ref.ts'

/** Without a regular expression: the hook tests all names once, and compiling one would take longer. */
function isSecretName(name: string): boolean {
  const upper = name.toUpperCase()
  return ['TOKEN', 'SECRET', 'PASSWORD'].some((part) => upper.includes(part)) || upper.endsWith('_KEY')
}

/** `MAX_TOKENS=128000` counts tokens. */
const tokenCount = { name: /TOKENS/i, value: /^\d+$/ }
/** `SECRETS_DIR=/run/secrets` and `SSH_KEY_FILE=~/.ssh/id` say where a secret is. */
const secretPath = { name: /_(?:DIR|FILE|PATH)$/i, value: /^[/~.]/ }

/** A secret whose value is known. */
export interface KnownSecret {
  ref: SecretRef
  value: string
}

/**
 * Replaces the values of the environment's secrets where they appear **verbatim**; encoded values and
 * unregistered tokens stay. Cheap enough for a hook, which has no time to search for every encoding.
 */
export const redactRawEnvironmentSecrets = (text: string, env: NodeJS.ProcessEnv): string =>
  rawSecretRedactor(env)(text)

/** The same for several texts: the environment is searched for secrets once. */
export function rawSecretRedactor(env: NodeJS.ProcessEnv): (text: string) => string {
  const secrets = environmentSecretRefs(env)
    .map(({ name }) => ({ name, value: env[name]?.trim() ?? '' }))
    .filter(({ value }) => value.length >= minSecretBytes)
    .toSorted((a, b) => b.value.length - a.value.length) // One value may be a prefix of another.
  return (text) =>
    secrets.reduce((clean, { name, value }) => clean.replaceAll(value, `<secret:env:${name}>`), text)
}

/**
 * Registers **all** of the environment's secrets at a gate, which removes them in every encoding, and tokens
 * too. Leaves out a value that a gate refuses, such as `aaaaaaaa`.
 */
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
    .filter((name) => isSecretName(name) && isSecret(name, env[name] ?? ''))
    .map((name) => ({ kind: 'env', name }))
}

const isSecret = (name: string, value: string): boolean =>
  Buffer.byteLength(value) >= minSecretBytes &&
  ![tokenCount, secretPath].some((not) => not.name.test(name) && not.value.test(value))
