import { StintError } from '../base/errors/stint-error.ts'
import { type KnownSecret, resolveSecret, SecretGate, type SecretRef } from '../secrets/index.ts'

/** Gives the values of secrets to the program, and keeps them off the disk. */
export class SessionSecrets {
  /** Everything on its way to the disk goes through here. */
  readonly gate = new SecretGate()
  readonly #env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv = process.env) {
    this.#env = env
  }

  /**
   * The value of a secret. From now on it is written as `<secret:env:NAME>` wherever it turns up.
   *
   * @example
   * const key = session.secrets.resolve({ kind: 'env', name: 'API_KEY' })
   */
  resolve(ref: SecretRef): string {
    const value = resolveSecret(ref, this.#env)
    this.gate.register(ref, value)
    return value
  }

  /** Those that are there; the others cannot leak. */
  resolveAll(refs: readonly SecretRef[]): void {
    for (const ref of refs) attempt(() => this.resolve(ref))
  }

  /** Values that are known already. */
  registerAll(secrets: readonly KnownSecret[]): void {
    for (const { ref, value } of secrets) attempt(() => this.gate.register(ref, value))
  }
}

/** What is not set here, or too short to be looked for, is passed over. */
function attempt(register: () => void): void {
  try {
    register()
  } catch (error) {
    if (!(error instanceof StintError)) throw error
  }
}
