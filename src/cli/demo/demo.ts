import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codedError } from '../../base/errors/stint-error.ts'
import { systemClock } from '../../base/process/clock.ts'
import { identify, liveness } from '../../base/process/liveness.ts'
import { type CommandContext, screenOf } from '../../command/context.ts'
import { defineCommand } from '../../command/define-command.ts'
import { plural } from '../text/format.ts'
import { assertShown, type DemoProcess, Stage } from './stage.ts'

export const demoCommand = defineCommand({
  name: 'demo',
  summary:
    'Shows stint at work, in half a minute: real processes, in a temporary home that is removed afterwards.',
  envelope: 'on-request',
  examples: [['stint demo', 'two agents collide, one is undone, a run is killed, a conversation comes back']],
  // The demo's scratch is guarded from the start.
  settings: () => ({ guard: 'eager' }),
  async run(context) {
    try {
      await playScenes(context)
    } catch (error) {
      throw codedError(error, 'play the demo')
    }
  },
})

async function playScenes(context: CommandContext): Promise<void> {
  const stage = new Stage(context, screenOf(1).paint)
  for (const [title, play] of scenes) {
    stage.title(title)
    await play(stage)
  }
  stage.title('That is all: nothing was installed, and nothing is left.')
  // npx runs a program that the shell does not find.
  const stint = process.env.npm_command === 'exec' ? 'npx stint' : 'stint'
  stage.say(`Next: \`${stint}\` shows what is here, and \`${stint} init\` sets it up for the agents you run.`)
}

/** A simulated agent: reads a file, waits until it is told to go on, and writes it back with a new line. */
const agentScript = (name: string): string => `before=$(cat notes.md)
echo read
read -r go
printf '%s\\n- ${name} was here\\n' "$before" > notes.md
echo written
`

const scenes: readonly [title: string, play: (stage: Stage) => Promise<void>][] = [
  ['1. Two agents and one file', collide],
  ['2. Undo one, keep the other', undoOne],
  ['3. kill -9 leaves nothing', killedRun],
  ['4. A conversation that the agent has deleted comes back', lostTranscript],
]

const notesOf = (stage: Stage): string => readFileSync(join(stage.workspace, 'notes.md'), 'utf8')

const linesOf = (stage: Stage): string[] =>
  notesOf(stage)
    .split('\n')
    .filter((line) => line.startsWith('- '))

const showNotes = (stage: Stage): void => {
  for (const line of linesOf(stage)) stage.say(`notes.md: ${line}`)
}

async function collide(stage: Stage): Promise<void> {
  stage.write('notes.md', '# Notes\n')
  for (const who of ['ada', 'bob']) stage.write(`${who}.sh`, agentScript(who))
  const [ada, bob] = [await stage.start('sh', ['ada.sh']), await stage.start('sh', ['bob.sh'])]
  await Promise.all([ada.waitForLine('read'), bob.waitForLine('read')])
  stage.say('Without stint, ada and bob read notes.md, think, and write it back with a line of their own.')
  ada.write('go')
  await ada.waitForLine('written')
  bob.write('go')
  await Promise.all([ada.ended, bob.ended])
  const lines = linesOf(stage)
  showNotes(stage)
  assertShown(lines.join() === '- bob was here', 'an edit is lost without stint')
  stage.bad('ada’s edit is lost, and neither of them knows.')
  await takeTurns(stage)
}

async function takeTurns(stage: Stage): Promise<void> {
  stage.write('notes.md', '# Notes\n')
  const run = async (who: string, ...more: string[]) =>
    await stage.stint('run', '--lock', '--session', who, ...more, '--', 'sh', `${who}.sh`)
  stage.say('With stint:')
  const ada = await run('ada')
  await ada.waitForLine('read')
  const refused = await run('bob')
  const code = await refused.ended
  assertShown(code === 4 && refused.stderr.includes('held by ada'), 'bob is refused, by name', refused)
  stage.say(refused.stderr.trim().split('\n')[0] ?? '')
  const bob = await run('bob', '--wait', '30s')
  ada.write('go')
  await ada.waitForLine('written')
  assertShown((await ada.ended) === 0, 'ada finishes', ada)
  await bob.waitForLine('read')
  bob.write('go')
  assertShown((await bob.ended) === 0, 'bob finishes', bob)
  showNotes(stage)
  assertShown(linesOf(stage).join() === '- ada was here,- bob was here', 'both edits are kept with stint')
  stage.good('bob was told who works here, waited, and both edits are there.')
}

/** Runs a command of stint to its end, and shows what it printed. */
async function show(stage: Stage, ...args: string[]): Promise<DemoProcess> {
  const process = await stage.stint(...args)
  assertShown((await process.ended) === 0, `\`stint ${args[0]}\` works`, process)
  for (const line of process.lines) stage.say(line)
  return process
}

async function undoOne(stage: Stage): Promise<void> {
  stage.write('notes.md', '# Notes\n\n- buy milk\n- call the bank\n- water the plants\n')
  await stage.run('git', 'init', '--quiet')
  stage.write('ada.sh', 'sed -i.old -e "s/buy milk/buy a boat/" notes.md && rm notes.md.old\n')
  stage.write('bob.sh', 'echo "- book the train" >> notes.md\n')
  for (const who of ['ada', 'bob'])
    await show(stage, 'run', '--lock', '--session', who, '--', 'sh', `${who}.sh`)
  showNotes(stage)
  await show(stage, 'changes')
  await show(stage, 'undo', 'ada', '--yes')
  showNotes(stage)
  const lines = linesOf(stage).join()
  assertShown(
    lines === '- buy milk,- call the bank,- water the plants,- book the train',
    'only ada is undone',
  )
  stage.good('ada’s change is taken back; bob’s, in the same file, is still there.')
}

/** Makes one file for each line of lines.txt. */
const fill = `echo "program $$"
split -a 3 -l 1 lines.txt "$TMPDIR/file-" || exit
echo "full $TMPDIR"
sleep 600
`

async function killedRun(stage: Stage): Promise<void> {
  const files = 200
  stage.write('lines.txt', 'data\n'.repeat(files))
  stage.write('fill.sh', fill)
  const run = await stage.stint('run', '--', 'sh', 'fill.sh')
  const program = identify(Number(await run.waitForLine('program ')))
  const scratch = await run.waitForLine('full')
  const before = readdirSync(scratch).filter((name) => name.startsWith('file-')).length
  assertShown(before === files, 'the run has filled its scratch', run)
  stage.say(`its private temp directory contains ${plural(before, 'file')}.`)
  stage.command(`kill -9 ${run.pid}`)
  run.kill()
  // The guard cleans up as soon as the run is gone.
  const hasEnded = (): boolean => program === undefined || liveness(program) === 'dead'
  assertShown(await soon(hasEnded), 'the program of a killed run ends')
  assertShown(await soon(() => !existsSync(scratch)), 'the scratch of a killed run is removed')
  stage.good('nothing is left: the program it ran was ended, and its files are gone.')
}

const patienceMs = 20_000

/** Waits until a condition holds; returns false if that takes too long. */
async function soon(isTrue: () => boolean): Promise<boolean> {
  const end = systemClock.mono() + patienceMs
  while (!isTrue() && systemClock.mono() < end) await delay(10)
  return isTrue()
}

const conversation = '5b1f6a02-9c3d-4e8f-a7b6-1c2d3e4f5a6b'

async function lostTranscript(stage: Stage): Promise<void> {
  const said = { role: 'user', content: 'tidy up the parser, and keep the tests green' }
  const line = { type: 'user', sessionId: conversation, cwd: stage.workspace, message: said }
  const text = `${JSON.stringify(line)}\n`
  const path = stage.writeHome(`.claude/projects/-project/${conversation}.jsonl`, text)
  await show(stage, 'vault', 'sync', '--agent', 'claude')
  await stage.run('rm', path)
  stage.say('That is what Claude Code does 30 days after the last word of a conversation.')
  await show(stage, 'vault', 'restore', conversation.slice(0, 8))
  assertShown(readFileSync(path, 'utf8') === text, 'the conversation is restored byte by byte')
  stage.good('every byte is back, where the agent looks for it.')
}
