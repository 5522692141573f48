import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventFile, openWorkspace, pass } from '../hook-calls.mjs'
import { installTool } from '../prepare.mjs'
import { run, settle } from '../processes.mjs'
import { prose } from '../prose.mjs'

const count = 1000
const bytes = 1 << 20

/** A transcript of 1 MiB, a line for each message. */
function transcript() {
  const line = (n) =>
    `${JSON.stringify({ type: n % 2 ? 'assistant' : 'user', uuid: randomUUID(), cwd: '/home/user/project', message: { role: 'user', content: prose(800) } })}\n`
  const lines = []
  for (let length = 0; length < bytes; length += lines.at(-1).length) lines.push(line(lines.length))
  return lines.join('')
}

/** A user of Claude Code with conversations in 20 projects, written over the last weeks. */
function makeUser({ place, stint }, name, conversations) {
  const user = join(place.base, name)
  const text = transcript()
  for (let n = 0; n < conversations; n++) {
    const directory = join(user, '.claude/projects', `-home-user-project-${n % 20}`)
    const path = join(directory, `${randomUUID()}.jsonl`)
    mkdirSync(directory, { recursive: true })
    writeFileSync(path, text)
    const seconds = Date.now() / 1000 - 3600 * (n + 1)
    utimesSync(path, seconds, seconds)
  }
  run(['sync', '-f', user], place)
  return { place, stint, user }
}

let made

/** Shared by the first two benches: 1 GB, of which the page cache has every byte. */
const setup = (parts) => (made ??= makeUser(parts, 'vault-user', count))

const sync = ({ place, stint, user }, home) =>
  run([process.execPath, stint.bin, 'vault', 'sync'], place, ['ignore', 'pipe', 'inherit'], {
    env: { HOME: user, STINT_HOME: home },
  })

const timeOf = ({ start, end }) => Number(end - start)

const nothingNew = {
  name: 'vault-nothing',
  about: `sync of ${count.toLocaleString('en')} transcripts of 1 GB in total, with nothing new`,
  unit: 'ms',
  rounds: 30,
  warmUp: 2,
  subject: 'stint vault sync',
  targets: [{ against: 'rsync -a', atMost: 2 }],
  setup(parts) {
    const state = {
      ...setup(parts),
      home: join(parts.place.base, 'vault-home'),
      copy: join(parts.place.base, 'rsync'),
    }
    sync(state, state.home)
    run(['rsync', '-a', `${state.user}/`, state.copy], state.place)
    return state
  },
  contenders: [
    {
      name: 'stint vault sync',
      check: (state) =>
        assert.match(sync(state, state.home).stdout, /^1000 conversations: 0 had something new/),
      run: (state) => timeOf(sync(state, state.home)),
    },
    {
      name: 'rsync -a',
      check: ({ copy }) => assert.equal(readdirSync(join(copy, '.claude/projects')).length, 20),
      run: ({ place, user, copy }) => timeOf(run(['rsync', '-a', `${user}/`, copy], place)),
    },
    {
      name: 'node -e 0',
      floor: true,
      check: () => {},
      run: ({ place }) => timeOf(run([process.execPath, '-e', '0'], place)),
    },
  ],
}

const first = {
  name: 'vault-first',
  about: `first sync of ${count.toLocaleString('en')} transcripts of 1 GB in total`,
  unit: 's',
  rounds: 5,
  subject: 'stint vault sync',
  targets: [{ against: 'cp, then sync', atMost: 2 }],
  setup,
  contenders: [
    {
      name: 'stint vault sync',
      check: () => {},
      run(state) {
        const sample = sync(state, join(state.place.renew(), 'home'))
        assert.match(sample.stdout, /^1000 conversations: 1000 had something new/)
        return timeOf(sample)
      },
    },
    {
      name: 'cp, then sync',
      floor: true,
      check: () => {},
      run(state) {
        const copy = join(state.place.renew(), 'copy')
        const script = 'cp -r "$0" "$1" && sync -f "$1"'
        return timeOf(run(['sh', '-c', script, join(state.user, '.claude'), copy], state.place))
      },
    },
  ],
}

/** The same session in two homes, of which one has a vault, and the event at the end of its turn. */
function setupTurn(parts) {
  const { user, place, stint } = makeUser(parts, 'turn-user', 100)
  const project = join(user, '.claude/projects/-home-user-project-0')
  const [name] = readdirSync(project)
  const session = name.replace('.jsonl', '')
  const [kept, plain] = ['kept', 'plain'].map((each) => {
    const state = openWorkspace(parts, `turn-${each}`)
    const stop = { session_id: session, cwd: state.workspace, hook_event_name: 'Stop' }
    const input = eventFile(state, 'stop', JSON.stringify({ ...stop, transcript_path: join(project, name) }))
    return { ...state, env: { ...state.env, HOME: user }, input }
  })
  sync({ place, stint, user }, kept.home)
  const record = join(kept.home, 'vault/claude', session, 'vault.jsonl')
  return { kept, plain, transcript: join(project, name), record, place }
}

/** Ends a turn after a new line in the transcript; the copier has ended before the next sample. */
async function endTurn({ kept, plain, transcript, record }, hasVault) {
  const state = hasVault ? kept : plain
  // A copy replaces the record.
  const before = statSync(record).ino
  const isCopied = () => !hasVault || statSync(record).ino !== before
  appendFileSync(transcript, `${JSON.stringify({ type: 'user', message: { content: prose(800) } })}\n`)
  const cost = timeOf(pass(state, state.hook, state.input))
  for (let tries = 0; !isCopied(); tries++) {
    assert(tries < 500, 'the end of a turn has copied nothing')
    await sleep(10)
  }
  await settle()
  return cost
}

const turn = {
  name: 'vault-turn',
  about: 'wall time of the hook at the end of a turn that starts a copier',
  unit: 'ms',
  rounds: 40,
  warmUp: 2,
  subject: 'with a vault',
  targets: [{ against: 'without', atMost: 1.3 }],
  setup: setupTurn,
  contenders: [
    { name: 'with a vault', check: (state) => endTurn(state, true), run: (state) => endTurn(state, true) },
    { name: 'without', floor: true, check: () => {}, run: (state) => endTurn(state, false) },
  ],
}

export default installTool('rsync', 'rsync') ? [nothingNew, first, turn] : [first, turn]
