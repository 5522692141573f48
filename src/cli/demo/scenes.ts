import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../base/process/clock.ts'
import { identify, liveness } from '../../base/process/liveness.ts'
import { filesystemStore, type Session } from '../../session/index.ts'
import { plural } from '../text/format.ts'
import { assertShown } from './player.ts'
import type { Stage } from './stage.ts'

/** What a scene has shown, in figures. */
export type Shown = Record<string, number | string | boolean>

export interface Scene {
  name: string
  title: string
  play: (stage: Stage) => Promise<Shown>
}

export const scenes: readonly Scene[] = [
  { name: 'collide', title: '1. Two agents edit one workspace, without stint', play: collide },
  { name: 'take-turns', title: '2. The same two, with stint', play: takeTurns },
  { name: 'killed-run', title: '3. A run is killed with kill -9', play: killedRun },
  { name: 'killed-session', title: '4. A session is killed in the middle of a turn', play: killedSession },
]

const linesOf = (stage: Stage): string[] =>
  readFileSync(join(stage.workspace, 'notes.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('- '))

const begin = (stage: Stage): void => stage.write('notes.md', '# Notes\n')

async function collide(stage: Stage): Promise<Shown> {
  begin(stage)
  const [ada, bob] = [await stage.agent('edit ada'), await stage.agent('edit bob')]
  await Promise.all([ada.hears('read'), bob.hears('read')])
  stage.tell('ada and bob each read notes.md, think, and write it back with a line of their own.')
  ada.say('go')
  await ada.hears('written')
  bob.say('go')
  await Promise.all([ada.ended(), bob.ended()])
  const lines = linesOf(stage)
  for (const line of lines) stage.tell(`notes.md: ${line}`)
  assertShown(lines.length === 1 && lines[0] === '- bob was here', 'an edit is lost without stint')
  stage.bad('ada’s edit is lost, and nobody was told.')
  return { edits: 2, kept: lines.length }
}

async function takeTurns(stage: Stage): Promise<Shown> {
  begin(stage)
  for (const who of ['ada', 'bob']) stage.write(`${who}.sh`, stage.agentScript(`edit ${who}`))
  const run = async (who: string, ...options: string[]) => {
    const purpose = ['--purpose', `${who} edits notes.md`]
    return await stage.stint(
      'run',
      '--lock',
      '--session',
      who,
      ...purpose,
      ...options,
      '--',
      'sh',
      `${who}.sh`,
    )
  }
  const ada = await run('ada')
  await ada.hears('read')
  const refused = await run('bob')
  const code = await refused.ended()
  const isTold = ['held by ada', 'ada edits notes.md'].every((fact) => refused.errors.includes(fact))
  assertShown(code === 4 && isTold, 'bob is refused, and told by whom', refused)
  stage.tell(refused.errors.trim().split('\n')[0] ?? '')
  stage.good('bob is told who works here, and on what.')
  const bob = await run('bob', '--wait', '30s')
  ada.say('go')
  await ada.hears('written')
  assertShown((await ada.ended()) === 0, 'ada finishes', ada)
  await bob.hears('read')
  bob.say('go')
  assertShown((await bob.ended()) === 0, 'bob finishes', bob)
  const lines = linesOf(stage)
  for (const line of lines) stage.tell(`notes.md: ${line}`)
  assertShown(lines.join() === '- ada was here,- bob was here', 'both edits are kept with stint')
  stage.good('both edits are there.')
  return { edits: 2, kept: lines.length, refused_exit: code }
}

/** A file for each line. */
const fill = `echo "program $$"
split -a 3 -l 1 lines.txt "$TMPDIR/file-" || exit
echo "full $TMPDIR"
sleep 600
`

async function killedRun(stage: Stage): Promise<Shown> {
  const files = 200
  stage.write('lines.txt', 'data\n'.repeat(files))
  stage.write('fill.sh', fill)
  const run = await stage.stint('run', '--', 'sh', 'fill.sh')
  const program = identify(Number(await run.hears('program ')))
  const scratch = await run.hears('full')
  const before = readdirSync(scratch).filter((name) => name.startsWith('file-')).length
  assertShown(before === files, 'the run has filled its scratch', run)
  stage.tell(`its private temp directory holds ${plural(before, 'file')}.`)
  stage.command(`kill -9 ${run.pid}`)
  run.kill()
  // No signal to the run reaches the guard. It cleans up as soon as the run is gone.
  const isOver = (): boolean => program === undefined || liveness(program) === 'dead'
  assertShown(await soon(isOver), 'the program of a killed run ends')
  assertShown(await soon(() => !existsSync(scratch)), 'the scratch of a killed run is removed')
  stage.good('nothing is left: the program it ran was ended, and its files are gone.')
  return { files: before, left: 0 }
}

const patienceMs = 20_000

/** Waits until something is so; false if it takes too long. */
async function soon(isSo: () => boolean): Promise<boolean> {
  const end = systemClock.mono() + patienceMs
  while (!isSo() && systemClock.mono() < end) await delay(10)
  return isSo()
}

async function killedSession(stage: Stage): Promise<Shown> {
  stage.tell('an agent records each message, and waits until it is on disk.')
  const agent = await stage.agent('record')
  const id = await agent.hears('session ')
  await agent.hears('acknowledged 25')
  stage.command(`kill -9 ${agent.pid}`)
  agent.kill()
  await agent.ended()
  const acknowledged = agent.lines.filter((line) => line.startsWith('acknowledged ')).length
  stage.tell(`${plural(acknowledged, 'message')} had been confirmed to be on disk.`)
  await seesLast(stage, id, 'step ')
  const recovered = await resume(stage, id, acknowledged)
  await seesLast(stage, id, goesOn)
  stage.good('the session goes on.')
  return { acknowledged, recovered }
}

const goesOn = 'and after the kill'

/** Reads a session from its beginning, and adds a message to it. How many there were? */
async function resume(stage: Stage, id: string, acknowledged: number): Promise<number> {
  await using session = await filesystemStore({ home: stage.home }).resume(id)
  const texts = await textsOf(session)
  const steps = Array.from({ length: acknowledged }, (_, index) => `step ${index + 1}`)
  assertShown(
    steps.every((step, index) => texts[index] === step),
    'every acknowledged message is there',
  )
  stage.good(`it is resumed, and read from its beginning: all ${acknowledged} are there.`)
  await session.append({ type: 'message', data: { text: goesOn } })
  stage.tell('one message more is written to it.')
  return texts.length
}

/** What anybody can see of a session: its last message. */
async function seesLast(stage: Stage, id: string, text: string): Promise<void> {
  const tail = await stage.stint('sessions', 'tail', id, '-n', '1')
  const isSeen = (await tail.ended()) === 0 && tail.lines.some((line) => line.includes(text))
  assertShown(isSeen, 'the last message of a session can be read', tail)
  for (const line of tail.lines) stage.tell(line)
}

async function textsOf(session: Session): Promise<string[]> {
  const texts: string[] = []
  for await (const { data } of session.events({ type: 'message' }))
    texts.push((data as { text: string }).text)
  return texts
}
