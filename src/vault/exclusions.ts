import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { isWithin } from '../base/fs/paths.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { lockName, withLock } from './conversation-lock.ts'
import { recordName } from './conversation-record.ts'

const pathIn = (vault: string): string => join(vault, 'excluded')

/**
 * What the vault must not copy, one a line: an agent (`gemini`), a directory whose conversations are left out
 * (`/home/me/private`), or a conversation that was removed (`claude/3f6c…`), as a sync would bring it back.
 */
export const readExclusions = (vault: string): string[] =>
  (readSmallFile(pathIn(vault), 'throwOnError') ?? '').split('\n').filter((line) => line !== '')

export const changeExclusions = (
  vault: string,
  { add = [], remove = [] }: { add?: readonly string[]; remove?: readonly string[] },
): Promise<void> =>
  withLock(vault, async () => {
    const exclusions = new Set([...readExclusions(vault), ...add])
    for (const exclusion of remove) exclusions.delete(exclusion)
    replaceFile(pathIn(vault), [...exclusions].map((exclusion) => `${exclusion}\n`).join(''))
  })

/** Is this conversation excluded? `workspaceOf` is asked only if directories are. */
export function isExcluded(
  exclusions: readonly string[],
  { agent, id }: { agent: string; id: string },
  workspaceOf: () => string | undefined = () => undefined,
): boolean {
  if (exclusions.includes(agent) || exclusions.includes(`${agent}/${id}`)) return true
  const directories = exclusions.filter((exclusion) => exclusion.startsWith('/'))
  const workspace = directories.length > 0 ? workspaceOf() : undefined
  return workspace !== undefined && directories.some((directory) => isWithin(workspace, directory))
}

/** Removes a conversation for good. An exclusion stays, as the next sync would copy it again. */
export async function removeConversation(
  vault: string,
  { agent, id, bytes, generations }: { agent: string; id: string; bytes: number; generations: number },
): Promise<void> {
  const directory = join(vault, agent, id)
  // The lock stays, for a copier that waits for it and will find the exclusion.
  await withLock(directory, async () => {
    await changeExclusions(vault, { add: [`${agent}/${id}`] })
    const line = { at: Date.now(), act: 'rm', agent, id, bytes, generations }
    appendPrivateFile(join(vault, 'log.jsonl'), `${JSON.stringify(line)}\n`)
    // The record last: without it, a removal that was interrupted could not be repeated.
    const names = readdirSync(directory).filter((name) => name !== lockName && name !== recordName)
    for (const name of [...names, recordName]) removeTree(join(directory, name))
  })
}
