import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { codedError } from '../../base/errors/stint-error.ts'
import { writeOut } from '../../base/process/terminal.ts'
import type { CommandContext } from '../../command/context.ts'
import { defineCommand } from '../../command/define-command.ts'
import { screenOf } from '../../command/stdio.ts'
import { scenes } from './scenes.ts'
import { Stage } from './stage.ts'

export const demoCommand = defineCommand({
  name: 'demo',
  summary:
    'Shows stint at work, in half a minute: real processes, in a temporary home that is removed afterwards.',
  envelope: 'on-request',
  examples: [['stint demo', 'two agents collide, one is undone, a run is killed, a conversation comes back']],
  // The demo's scratch is guarded from the start; a simulated agent ends with the demo.
  settings: () => ({ guard: process.env.STINT_DEMO_PART === undefined ? 'eager' : 'off' }),
  async run(context) {
    try {
      const part = process.env.STINT_DEMO_PART
      await (part === undefined ? playScenes(context) : playPart(part))
    } catch (error) {
      throw codedError(error, 'play the demo')
    }
  },
})

async function playScenes(context: CommandContext): Promise<void> {
  const stage = new Stage(context, screenOf(1).paint)
  for (const { title, play } of scenes) {
    stage.title(title)
    await play(stage)
  }
  stage.title('That is all: nothing was installed, and nothing is left.')
  // npx runs a program that the shell does not find.
  const stint = process.env.npm_command === 'exec' ? 'npx stint' : 'stint'
  stage.say(`Next: \`${stint}\` shows what is here, and \`${stint} init\` sets it up for the agents you run.`)
}

/** Acts as a simulated agent, in a process of its own, so that it can be killed. */
async function playPart(part: string): Promise<void> {
  const [name, ...args] = part.split(' ')
  if (name === 'edit') await editNotes(args[0] ?? 'an agent')
}

const printLine = (line: string): boolean => writeOut(1, `${line}\n`)

/** Edits a file as an agent does: reads it, waits for a line on stdin, and writes it back with a new line. */
async function editNotes(agent: string): Promise<void> {
  const before = readFileSync('notes.md', 'utf8')
  printLine('read')
  for await (const _ of createInterface({ input: process.stdin })) break
  writeFileSync('notes.md', `${before}- ${agent} was here\n`)
  printLine('written')
}
