import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { isWithin } from '../base/fs/paths.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { withLock } from './conversation-lock.ts'
import { recordName } from './conversation-record.ts'

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

/** Removes a conversation for good. An exclusion stays, as the next sync would copy it again. */
export async function removeConversation(
  vault: string,
  { agent, id, bytes, generations }: { agent: string; id: string; bytes: number; generations: number },
): Promise<void> {
  const directory = join(vault, agent, id)
  // The lock stays, for a copier that waits for it and will find the exclusion.
  await withLock(directory, async () => {
    await changeExclusions(vault, 'add', `${agent}/${id}`)
    const line = { at: Date.now(), act: 'rm', agent, id, bytes, generations }
    appendPrivateFile(join(vault, 'log.jsonl'), `${JSON.stringify(line)}\n`)
    // The record last: without it, a removal that was interrupted could not be repeated.
    const names = readdirSync(directory).filter((name) => /^\d+$/.test(name))
    for (const name of [...names, recordName]) removeTree(join(directory, name))
  })
}
