import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { isClaimsKey, type Register, WorkspaceClaims } from '../../lease/index.ts'
import type { DriverStore } from '../../session/index.ts'
import type { NowFeed } from './now-feed.ts'

/** The parts that all endpoints use. */
export interface UiParts {
  /** The register of the home, where hooks keep their claims, then that of a server if one is named. */
  registers: readonly Register[]
  store: DriverStore
  feed: NowFeed
  readOnly: boolean
}

/** Opens the claims of a key. It is checked first: in a register of files it becomes a part of a path. */
export async function openKey({ registers, feed }: UiParts, key: string): Promise<WorkspaceClaims> {
  const register = registers.find((each) => isClaimsKey(key, each))
  if (register === undefined)
    throw new StintError('ARG_ERROR', `${visibleText(key, 40)} is not the key of a workspace`)
  return await WorkspaceClaims.ofKey(register, key, feed.activity.nameOf(key))
}
