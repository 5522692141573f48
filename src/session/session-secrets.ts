import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { type KnownSecret, resolveSecret, SecretGate, type SecretRef } from '../secrets/index.ts'
import { checkStrings } from './create-manifest.ts'
import type { LogEntry, SessionHold, StoreDriver, WriteGuard } from './driver.ts'
import { factsOf } from './manifest.ts'

/** Gives the values of secrets to the program, and keeps them off the disk. */
export interface SessionSecrets {
  /**
   * The value of a secret. From now on it is written as `<secret:env:NAME>` wherever it turns up.
   *
   * @example
   * const key = session.secrets.resolve({ kind: 'env', name: 'API_KEY' })
   */
  resolve(ref: SecretRef): string
}

/** `purpose` is written at every heartbeat. */
const maxPurposeLength = 500

/** The secrets that a session or visit knows, and the gate that everything passes before it is written. */
export class RegisteredSecrets implements SessionSecrets {
  readonly gate = new SecretGate()
  readonly guard: WriteGuard = { check: (bytes) => this.gate.assertClean(bytes, 'a record of the session') }
  readonly #env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv = process.env) {
    this.#env = env
  }

  resolve(ref: SecretRef): string {
    const value = resolveSecret(ref, this.#env)
    this.gate.register(ref, value)
    return value
  }

  /** Registers the secrets that are set here; the others cannot leak. */
  resolveAll(refs: readonly SecretRef[]): void {
    for (const ref of refs) ignoreUnfit(() => this.resolve(ref))
  }

  /** Registers values that the caller has resolved already. */
  registerAll(secrets: readonly KnownSecret[]): void {
    for (const { ref, value } of secrets) ignoreUnfit(() => this.gate.register(ref, value))
  }

  /** Registers the secrets that the manifest of a session refers to; there may be no session yet. */
  async resolveThoseOf(driver: StoreDriver, id: string): Promise<void> {
    try {
      this.resolveAll(factsOf((await driver.read(id)).manifest).secrets)
    } catch (error) {
      if (errorCode(error) !== 'NOT_FOUND') throw error
    }
  }

  /** Returns the entry of a visitor without the secrets that the visitor did not know. */
  redact<Entry extends LogEntry>(entry: Entry): Entry {
    const { type, json } = entry
    return { ...entry, type: this.gate.text(type), json: this.gate.stringify(JSON.parse(json)) }
  }

  /** Why a session is taken, in a form that may be shown. */
  holdFor(kind: SessionHold['kind'], purpose: string | undefined): SessionHold {
    checkStrings({ purpose })
    return {
      kind,
      purpose: purpose === undefined ? undefined : this.gate.text(purpose).slice(0, maxPurposeLength),
    }
  }
}

/** For writes that contain nothing new: records that were checked when they were first written. */
export const noGuard: WriteGuard = { check: () => {} }

/** Skips a secret that is not set here, or that is too short to search for. */
function ignoreUnfit(register: () => void): void {
  try {
    register()
  } catch (error) {
    if (!(error instanceof StintError)) throw error
  }
}
