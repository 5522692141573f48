export { type KnownSecret, registerEnvironmentSecrets, SecretGate } from './gate.ts'
export { checkSecretRef, resolveSecret, type SecretRef } from './secret-ref.ts'
