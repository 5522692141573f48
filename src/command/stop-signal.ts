import type { StintError } from '../base/errors/stint-error.ts'

/** Tells a handler that it must stop. Its signal is made on demand: a handler that never asks for it cannot listen, and need not be waited for. */
export class StopSignal {
  #controller: AbortController | undefined
  #reason: StintError | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  /** Has anybody asked for it? */
  get isHeard(): boolean {
    return this.#controller !== undefined
  }

  stop(reason: StintError): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
