import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { ulid } from '../base/text/id.ts'
import { withLock } from './conversation-lock.ts'
import { changeExclusions } from './exclusions.ts'
import type { Conversation } from './list-conversations.ts'

/** How the names of directories begin that are on their way out. */
export const removedPrefix = '.removed-'

/** Removes a conversation for good. An exclusion stays, as the next sync would copy it again. */
export async function removeConversation(
  vault: string,
  { agent, id, bytes, generations }: Conversation,
): Promise<void> {
  const directory = join(vault, agent, id)
  const removed = join(vault, `${removedPrefix}${ulid()}`)
  await withLock(directory, async () => {
    await changeExclusions(vault, 'add', `${agent}/${id}`)
    const line = { at: Date.now(), act: 'rm', agent, id, bytes, generations }
    appendPrivateFile(join(vault, 'log.jsonl'), `${JSON.stringify(line)}\n`)
    renameSync(directory, removed)
  })
  removeTree(removed)
}
