export { type KnownSecret, registerEnvironmentSecrets } from './environment-secrets.ts'
export { SecretGate } from './gate.ts'
export { checkSecretRef, resolveSecret, type SecretRef } from './secret-ref.ts'
