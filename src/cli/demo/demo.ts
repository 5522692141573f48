import { paintFor } from '../../command/stdio.ts'
import type { CommandContext } from '../../command/context.ts'
import { defineCommand } from '../../command/define-command.ts'
import { codedError } from '../../base/errors/stint-error.ts'
import { playPart } from './parts.ts'
import { scenes, type Shown } from './scenes.ts'
import { Stage } from './stage.ts'

export const demoCommand = defineCommand({
  name: 'demo',
  summary:
    'Shows stint at work, in a minute: real processes, in a temporary home that is removed afterwards.',
  envelope: 'on-request',
  examples: [
    ['stint demo', 'two agents collide, a run is killed, a session is resumed'],
    ['stint demo --json', 'what it has shown, in figures'],
  ],
  // The demo's scratch is guarded from the start; a process that plays a part ends with the demo.
  settings: () => ({ guard: process.env.STINT_DEMO_PART === undefined ? 'eager' : 'off' }),
  async run(context) {
    try {
      return await play(context)
    } catch (error) {
      throw codedError(error, 'play the demo')
    }
  },
  render: () => '',
})

async function play(context: CommandContext): Promise<{ scenes: Record<string, Shown> } | undefined> {
  const part = process.env.STINT_DEMO_PART
  if (part !== undefined) {
    await playPart(part)
    return undefined
  }
  const stage = new Stage(context, await paintFor(1))
  const shown: Record<string, Shown> = {}
  for (const { name, title, play } of scenes) {
    stage.title(title)
    shown[name] = await play(stage)
  }
  stage.title('That is all: nothing was installed, and nothing is left.')
  stage.tell('Next: `stint hook install` protects the agents you run; `stint status` shows what they do.')
  return { scenes: shown }
}
