import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { writeOut } from '../../base/process/write-output.ts'
import { filesystemStore } from '../../session/index.ts'

/** What a simulated agent does: in a process of its own, so that it can be killed. */
export async function playPart(part: string): Promise<void> {
  const [name, ...args] = part.split(' ')
  if (name === 'edit') await edit(args[0] ?? 'an agent')
  if (name === 'record') await record()
}

const tell = (line: string): boolean => writeOut(1, `${line}\n`)

/** Reads a file, thinks, and writes it back with a line more: what every edit of an agent is. */
async function edit(who: string): Promise<void> {
  const before = readFileSync('notes.md', 'utf8')
  tell('read')
  await nextLine()
  writeFileSync('notes.md', `${before}- ${who} was here\n`)
  tell('written')
}

/** Writes into a session, and says of each message when it is on disk. */
async function record(): Promise<void> {
  const session = await filesystemStore().create({ tool: 'demo', title: 'a session that is killed' })
  tell(`session ${session.id}`)
  for (let n = 1; ; n++) {
    const { seq } = await session.append({ type: 'message', data: { text: `step ${n}` } })
    tell(`acknowledged ${seq}`)
  }
}

async function nextLine(): Promise<void> {
  for await (const _ of createInterface({ input: process.stdin })) return
}
