import type { Claim, Register } from '../lease/index.ts'
import type { Identity } from '../base/process/liveness.ts'

/** Where an event happens. */
export interface Surroundings {
  register: Register
  /** The process that the session lives by. */
  agent: Identity | null
  env: NodeJS.ProcessEnv
}

export const isOfSession =
  (sessionId: string) =>
  ({ session_id }: Claim): boolean =>
    session_id === sessionId
