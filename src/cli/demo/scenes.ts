import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../base/process/clock.ts'
import { identify, liveness } from '../../base/process/liveness.ts'
import { filesystemStore, type Session } from '../../session/index.ts'
import { plural } from '../text/format.ts'
import { assertShown, type Stage } from './stage.ts'

interface Scene {
  title: string
  play: (stage: Stage) => Promise<void>
}

export const scenes: readonly Scene[] = [
  { title: '1. Two agents edit one workspace, without stint', play: collide },
  { title: '2. The same two, with stint', play: takeTurns },
  { title: '3. A run is killed with kill -9', play: killedRun },
  { title: '4. A session is killed in the middle of a turn', play: killedSession },
]

const notesOf = (stage: Stage): string[] =>
  readFileSync(join(stage.workspace, 'notes.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('- '))

const startNotes = (stage: Stage): void => stage.write('notes.md', '# Notes\n')

async function collide(stage: Stage): Promise<void> {
  startNotes(stage)
  const [ada, bob] = [await stage.agent('edit ada'), await stage.agent('edit bob')]
  await Promise.all([ada.waitForLine('read'), bob.waitForLine('read')])
  stage.say('ada and bob each read notes.md, think, and write it back with a line of their own.')
  ada.write('go')
  await ada.waitForLine('written')
  bob.write('go')
  await Promise.all([ada.ended(), bob.ended()])
  const lines = notesOf(stage)
  for (const line of lines) stage.say(`notes.md: ${line}`)
  assertShown(lines.length === 1 && lines[0] === '- bob was here', 'an edit is lost without stint')
  stage.bad('ada’s edit is lost, and neither of them knows.')
}

async function takeTurns(stage: Stage): Promise<void> {
  startNotes(stage)
  for (const who of ['ada', 'bob']) stage.write(`${who}.sh`, stage.agentScript(`edit ${who}`))
  const run = async (who: string, ...more: string[]) => {
    const options = ['--session', who, '--purpose', `${who} edits notes.md`, ...more]
    return await stage.stint('run', '--lock', ...options, '--', 'sh', `${who}.sh`)
  }
  const ada = await run('ada')
  await ada.waitForLine('read')
  const refused = await run('bob')
  const code = await refused.ended()
  const isTold = ['held by ada', 'ada edits notes.md'].every((fact) => refused.stderr.includes(fact))
  assertShown(code === 4 && isTold, 'bob is refused, and the message names ada', refused)
  stage.say(refused.stderr.trim().split('\n')[0] ?? '')
  stage.good('bob is told who works here, and on what.')
  const bob = await run('bob', '--wait', '30s')
  ada.write('go')
  await ada.waitForLine('written')
  assertShown((await ada.ended()) === 0, 'ada finishes', ada)
  await bob.waitForLine('read')
  bob.write('go')
  assertShown((await bob.ended()) === 0, 'bob finishes', bob)
  const lines = notesOf(stage)
  for (const line of lines) stage.say(`notes.md: ${line}`)
  assertShown(lines.join() === '- ada was here,- bob was here', 'both edits are kept with stint')
  stage.good('both edits are there.')
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

async function killedSession(stage: Stage): Promise<void> {
  stage.say('an agent records each message, and waits until it is on disk.')
  const agent = await stage.agent('record')
  const id = await agent.waitForLine('session ')
  await agent.waitForLine('acknowledged 25')
  stage.command(`kill -9 ${agent.pid}`)
  agent.kill()
  await agent.ended()
  const acknowledged = agent.lines.filter((line) => line.startsWith('acknowledged ')).length
  stage.say(`${plural(acknowledged, 'message')} had been confirmed as on disk.`)
  await showLast(stage, id, 'step ')
  await resume(stage, id, acknowledged)
  await showLast(stage, id, lastMessage)
  stage.good('the session goes on.')
}

const lastMessage = 'and after the kill'

/** Resumes a session, checks that no message is missing, and appends one. */
async function resume(stage: Stage, id: string, acknowledged: number): Promise<void> {
  await using session = await filesystemStore({ home: stage.home }).resume(id)
  const texts = await textsOf(session)
  const steps = Array.from({ length: acknowledged }, (_, index) => `step ${index + 1}`)
  assertShown(
    steps.every((step, index) => texts[index] === step),
    'every acknowledged message is there',
  )
  stage.good(`the session is resumed and read from the start: all ${acknowledged} are there.`)
  await session.append({ type: 'message', data: { text: lastMessage } })
  stage.say('one more message is appended.')
}

/** Shows the last message of a session, which must contain `text`. */
async function showLast(stage: Stage, id: string, text: string): Promise<void> {
  const tail = await stage.stint('sessions', 'tail', id, '-n', '1')
  const isShown = (await tail.ended()) === 0 && tail.lines.some((line) => line.includes(text))
  assertShown(isShown, 'the last message of a session can be read', tail)
  for (const line of tail.lines) stage.say(line)
}

async function textsOf(session: Session): Promise<string[]> {
  const texts: string[] = []
  for await (const { data } of session.events({ type: 'message' }))
    texts.push((data as { text: string }).text)
  return texts
}
