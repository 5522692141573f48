import { StintError } from '../base/errors/stint-error.ts'
import { newSessionId } from '../base/text/id.ts'
import type { HostName } from '../hook/host.ts'
import type { HookChoices } from '../hook/options.ts'
import { acquireLease, computeWorkspaceHash } from '../lease/index.ts'
import type { InstallPlace } from './agents.ts'

/** The change of one file, made or planned. */
export interface Change {
  agent: HostName
  place: InstallPlace
  path: string
  outcome: 'installed' | 'updated' | 'unchanged' | 'removed' | 'restored' | 'absent'
  before: Buffer | undefined
  after: Buffer | undefined
  /** The path of a copy of the file from before the installation. */
  backup?: string
}

/** How hooks are written. */
export interface HookWriting {
  program: readonly string[]
  /** The choices for the hooks, which may depend on those that are installed: call it under the lease. */
  choices(): HookChoices
  dryRun: boolean
}

/** Adds the path of the file to a `SETTINGS_INVALID` error that does not name it. */
export function namingFile<Result>(path: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof StintError) || error.code !== 'SETTINGS_INVALID' || error.message.startsWith(path))
      throw error
    throw new StintError('SETTINGS_INVALID', `${path}: ${error.message}`, error.options)
  }
}

/** Reads and writes a file under a lease: two stint processes must not overwrite each other's changes. */
export async function exclusively<Result>(path: string, act: () => Result): Promise<Result> {
  const lease = await acquireLease({
    workspace: { path, key: computeWorkspaceHash(path) },
    sessionId: newSessionId(),
    purpose: 'stint hook',
    ttlMs: 60_000,
    wait: 30_000,
  })
  try {
    return act()
  } finally {
    // The file is changed, or the error says why not. A claim that cannot be released ends with this process.
    await lease.release().catch(() => {})
  }
}
