import { StintError } from '../base/errors/stint-error.ts'
import { type KnownSecret, resolveSecret, SecretGate, type SecretRef } from '../secrets/index.ts'
import { checkStrings } from './create-manifest.ts'
import { type Facts, factsOf, type Manifest } from './manifest.ts'
import type { Medium, SessionHold } from './medium.ts'
import type { Mask } from './store.ts'

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
  readonly #leastMask: Mask

  /** `leastMask`: `tokens` masks tokens even if the session does not. */
  constructor(leastMask: Mask = 'registered') {
    this.#leastMask = leastMask
  }

  /** Throws if finished bytes contain a secret: the second defence, after the gate has replaced them. */
  readonly check = (bytes: Uint8Array): void => this.gate.assertClean(bytes, 'a record of the session')

  resolve(ref: SecretRef): string {
    const value = resolveSecret(ref, process.env)
    this.gate.register(ref, value)
    return value
  }

  /** Registers the secrets of a session that are set here, and masks what the session has chosen. */
  apply({ secrets, mask }: Pick<Facts, 'secrets' | 'mask'>): void {
    for (const ref of secrets) ignoreUnfit(() => this.resolve(ref))
    this.gate.masksTokens = mask === 'tokens' || this.#leastMask === 'tokens'
  }

  /** Registers values that the caller has resolved already. */
  registerAll(secrets: readonly KnownSecret[]): void {
    for (const { ref, value } of secrets) ignoreUnfit(() => this.gate.register(ref, value))
  }

  /** Applies what the manifest of a session says. `NOT_FOUND`. */
  async applyThoseOf(medium: Medium, id: string): Promise<void> {
    this.apply(factsOf((await medium.read(id)).manifest))
  }

  /** Returns the manifest of a new session; `SECRET_LEAK` if it still contains a secret. */
  checkedManifest(manifest: Manifest): Manifest {
    this.gate.assertClean(JSON.stringify(manifest), 'the manifest of the session')
    return manifest
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

/** Skips a secret that is not set here, or that is too short to search for. */
function ignoreUnfit(register: () => void): void {
  try {
    register()
  } catch (error) {
    if (!(error instanceof StintError)) throw error
  }
}
