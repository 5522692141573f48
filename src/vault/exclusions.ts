import { join } from 'node:path'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { isWithin } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { withLock } from './conversation-lock.ts'

const pathIn = (vault: string): string => join(vault, 'excluded')

/**
 * What the vault must not copy, one a line: an agent (`gemini`), a directory whose conversations are left out
 * (`/home/me/private`), or a conversation that was removed (`claude/3f6c…`), as a sync would bring it back.
 */
export const readExclusions = (vault: string): string[] =>
  (readSmallFile(pathIn(vault), 'throwOnError') ?? '').split('\n').filter((line) => line !== '')

export const changeExclusions = (vault: string, how: 'add' | 'remove', what: string): Promise<void> =>
  withLock(vault, async () => {
    const others = readExclusions(vault).filter((each) => each !== what)
    replaceFile(
      pathIn(vault),
      [...others, ...(how === 'add' ? [what] : [])].map((each) => `${each}\n`).join(''),
    )
  })

export const isExcluded = (
  exclusions: readonly string[],
  { agent, id }: { agent: string; id: string },
): boolean => exclusions.includes(agent) || exclusions.includes(`${agent}/${id}`)

export const isInExcludedDirectory = (
  exclusions: readonly string[],
  workspace: string | undefined,
): boolean =>
  workspace !== undefined && exclusions.some((each) => each.startsWith('/') && isWithin(workspace, each))
