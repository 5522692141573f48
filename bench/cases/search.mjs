import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installTool } from '../prepare.mjs'
import { prose } from '../prose.mjs'
import { environment, run } from '../processes.mjs'

const sessions = 16
const sessionBytes = 64 << 20
const maxMegabytes = 150

/** In no record; in one record of each session; the second has a quote, which JSON escapes. */
const [absent, present, quoted] = ['connection refused by peer', 'the needle 7f3a', 'he said "stop 7f3a"']

let made

/** Shared by all of these benches: 1 GB of journals, of which the page cache has every byte. */
const setup = (parts) => (made ??= make(parts))

async function make({ place, stint }) {
  const home = join(place.base, 'search')
  mkdirSync(home)
  const { filesystemStore, newSessionId } = await import(stint.library)
  const store = filesystemStore({ home })
  const session = await store.create({ tool: 'bench', title: 'A session like many others' })
  const journal = join(home, 'sessions', session.id, 'journal.log')
  for (let n = 0; statSync(journal, { throwIfNoEntry: false })?.size < sessionBytes || n === 0; n += 2000) {
    const batch = Array.from({ length: 2000 }, (_, i) =>
      session.append({ type: 'message', data: { role: 'user', text: `${n + i}: ${prose(400)}`, n: n + i } }),
    )
    await Promise.all(batch)
  }
  await session.append({ type: 'message', data: { text: `here is ${present}, at last` } })
  await session.append({ type: 'message', data: { text: `and ${quoted}.` } })
  await session.close()
  const directory = join(home, 'sessions')
  for (let i = 1; i < sessions; i++) {
    const id = newSessionId()
    cpSync(join(directory, session.id), join(directory, id), { recursive: true, verbatimSymlinks: true })
    const manifest = join(directory, id, 'manifest.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replaceAll(session.id, id))
  }
  await store.list()
  const logs = readdirSync(directory, { recursive: true })
    .filter((name) => /(?:^|\/)journal[^/]*\.log$/.test(name))
    .map((name) => join(directory, name))
  const bytes = logs.reduce((sum, path) => sum + statSync(path).size, 0)
  assert(bytes > 1e9, `${bytes} bytes are less than 1 GB`)
  return { home, logs, place, stint }
}

const command = {
  stint: ({ stint }, text) => [process.execPath, stint.bin, 'sessions', 'search', text],
  'grep -F': ({ logs }, text) => ['grep', '-F', '-h', '--', JSON.stringify(text).slice(1, -1), ...logs],
  ripgrep: ({ logs }, text) => [
    'rg',
    '-F',
    '-N',
    '--no-filename',
    '--',
    JSON.stringify(text).slice(1, -1),
    ...logs,
  ],
}

/** Every contender finds one line a session, or none; grep and ripgrep then end with 1. */
const search = (name, text) => (state) => {
  const isAbsent = text === absent
  const exit = isAbsent && name !== 'stint' ? 1 : 0
  const stdio = ['ignore', 'pipe', 'inherit']
  const options = { env: { STINT_HOME: state.home }, exit }
  const { start, end, stdout } = run(command[name](state, text), state.place, stdio, options)
  assert.equal(stdout.split('\n').length - 1, isAbsent ? 0 : sessions)
  return Number(end - start)
}

/** stint's memory at its peak, as the kernel counts it. */
function checkMemory(state, text) {
  const script = 'process.on("exit", () => console.error(process.resourceUsage().maxRSS))'
  const { stderr, status } = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(script)}`,
      ...command.stint(state, text).slice(1),
    ],
    { env: { ...environment(state.place), STINT_HOME: state.home }, encoding: 'utf8' },
  )
  assert.equal(status, 0)
  const megabytes = Number(stderr.trim()) / 1024
  assert(megabytes > 0 && megabytes <= maxMegabytes, `${megabytes} MB of memory`)
}

const hasRipgrep = installTool('rg', 'ripgrep')

const benchOf = (name, what, text) => ({
  name,
  about: `1 GB of journals in ${sessions} sessions, for ${what}`,
  unit: 'ms',
  rounds: 15,
  subject: 'stint',
  targets: [{ against: 'grep -F', atMost: 2 }],
  setup,
  contenders: ['stint', 'grep -F', ...(hasRipgrep ? ['ripgrep'] : [])].map((contender) => ({
    name: contender,
    floor: contender === 'grep -F',
    check(state) {
      search(contender, text)(state)
      if (contender === 'stint') checkMemory(state, text)
    },
    run: search(contender, text),
  })),
})

export default [
  benchOf('search', 'a text that is in none', absent),
  benchOf('search-hits', 'a text that is in one record of each', present),
  benchOf('search-quotes', 'a text with quotes', quoted),
]
