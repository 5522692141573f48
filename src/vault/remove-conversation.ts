import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { withLock } from './conversation-lock.ts'
import { recordName } from './conversation-record.ts'
import { changeExclusions } from './exclusions.ts'
import type { Conversation } from './list-conversations.ts'

/** Removes a conversation for good. An exclusion stays, as the next sync would copy it again. */
export async function removeConversation(
  vault: string,
  { agent, id, bytes, generations }: Conversation,
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
