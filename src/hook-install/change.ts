import { StintError } from '../base/errors/stint-error.ts'
import type { Place } from './install-scope.ts'
import type { AgentName } from '../hook/hosts.ts'

/** What happened, or would happen, to one file. */
export interface Change {
  agent: AgentName
  place: Place
  path: string
  outcome: 'installed' | 'updated' | 'unchanged' | 'removed' | 'restored' | 'absent'
  before: Buffer | undefined
  after: Buffer | undefined
  /** Where the file from before is kept. */
  backup?: string
}

/** Says which file an error is about. */
export function about<Result>(path: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof StintError) || error.code !== 'SETTINGS_INVALID' || error.message.startsWith(path))
      throw error
    throw new StintError('SETTINGS_INVALID', `${path}: ${error.message}`, error.options)
  }
}
