import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { displayWidth } from '../src/base/text/wrap.ts'
import { ownIdentity } from '../src/base/process/liveness.ts'
import { deadPid, plant } from './support/plant.ts'
import { SessionWorld } from './support/session-world.ts'
import { Terminal } from './support/terminal.ts'
import { projectRoot } from './support/world.ts'

// What people see at 80, 110 and 140 columns, in a home with long names, wide characters and much to show.

const world = new SessionWorld({ STINT_OUTPUT: '', NO_COLOR: '1' })
const deep = join(world.tmp, 'src/clients/north-west/applications/a-rather-long-name-for-a-service')
let terminal: Terminal

/** Makes 300 sessions and dies: 30 of them crash, the others are closed. */
const makeSessions = `
  import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
  const store = filesystemStore()
  const titles = ['short', 'rename the tables of the old schema, and everything that reads them, in three steps', '日本語の題名です、とても長い題名なので切らなければなりません', '🚀 launch 👩‍💻']
  const tools = ['claude', 'codex', 'a-tool-with-a-long-name']
  await Promise.all(Array.from({ length: 300 }, async (_, n) => {
    const session = await store.create({
      id: n % 3 === 0 ? crypto.randomUUID() : undefined,
      tool: tools[n % 3],
      title: titles[n % 4],
      workspace: n % 5 === 0 ? process.env.HOME : process.argv[2],
    })
    if (n === 299) {
      await session.append({ type: 'message', data: { text: titles[1] } })
      await session.act({ action: 'shell', subject: titles[1], key: 'rename-1' }, () => 'done')
    }
    if (n >= 30) await session.close()
  }))
  process.kill(process.pid, 'SIGKILL')
`

beforeAll(async () => {
  mkdirSync(join(deep, '.git'), { recursive: true })
  writeFileSync(join(world.tmp, 'make.mjs'), makeSessions)
  const env = { HOME: world.tmp }
  await world.start(process.execPath, [join(world.tmp, 'make.mjs'), deep], { env }).finished
  for (const [pid, command] of [
    [process.pid, 'npm'],
    [process.pid, 'a-program-with-a-long-name'],
    [deadPid, 'vitest'],
    [deadPid, '日本語の名前のプログラム'],
  ] as const)
    plant(world, { ...ownIdentity(), pid }, { command, session_id: crypto.randomUUID() })
  const purpose = 'rename the tables of the old schema, and everything that reads them, in three steps'
  for (const path of ['src/api', 'docs/a/rather/deep/directory/with/a/long/path/inside'])
    await world.stint(
      ['lock', 'acquire', '--session', crypto.randomUUID(), '--path', path, '--purpose', purpose, '--quiet'],
      { cwd: deep, env },
    )
  await world.stint(['lock', 'acquire', '--session', 'mine', '--resource', 'deploy:prod', '--quiet'], { env })
  for (const agent of ['claude', 'codex', 'git'])
    await world.stint(['hook', 'install', agent, '--wait', '30s', '--record', '--quiet'], { cwd: deep, env })
  await world.stint(['mcp', 'install', 'claude', 'codex', '--quiet'], { cwd: deep, env })
  terminal = await Terminal.open(world)
  terminal.enter(`cd ${deep}`)
})

afterAll(async () => {
  await terminal[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const commands = [
  'status',
  'sessions list',
  'sessions list --all',
  'sessions list --state crashed',
  'sessions list --sort size',
  'sessions search schema',
  'temp list',
  'temp stats',
  'lock status',
  'lock status --all',
  'lock history',
  'hook status',
  'doctor',
  'sweep --dry-run',
]

const sizes = [
  [80, 24],
  [110, 30],
  [140, 40],
] as const

const cases = sizes.flatMap(([columns, rows]) => commands.map((command) => [command, columns, rows] as const))

test.each(cases)(
  'stint %s fits %i columns: no row wraps, and no word is broken',
  async (command, columns, rows) => {
    terminal.resize(columns, rows)
    const { lines, isWrapped } = await terminal.output(`stint ${command}`)
    expect(isWrapped, lines.join('\n')).toBe(false)
    for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(columns)
    const text = await (piped[command] ??= pipe(command))
    expect(brokenWords(lines, text), lines.join('\n')).toEqual([])
  },
)

/** The text of a command in a pipe, where nothing is cut. */
const piped: Record<string, Promise<string>> = {}
const pipe = async (command: string): Promise<string> =>
  (await world.stint(command.split(' '), { cwd: deep, env: { HOME: world.tmp } })).stdout

/** The words on a screen that the uncut text does not have. Numbers change from one run to the next. */
function brokenWords(lines: readonly string[], text: string): string[] {
  const whole = new Set(wordsOf(text))
  // A list that is cut on a small screen says how to see the rest.
  const shown = lines.filter((line) => !/^ +… /.test(line))
  return shown.flatMap(wordsOf).filter((word) => {
    if (whole.has(word) || /\d/.test(word) || word === '→') return false
    const [start = '', end, ...more] = word.split('…')
    // What is cut says so, and both of its sides are those of the text.
    return end === undefined || more.length > 0 || !text.includes(start) || !text.includes(end)
  })
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')

test.each(['doctor', 'mcp install'])('the sentences of stint %s break no word', async (command) => {
  terminal.resize(80, 24)
  const { lines, isWrapped } = await terminal.output(`stint ${command}`)
  expect(isWrapped, lines.join('\n')).toBe(false)
})

test('the demo breaks no word', async () => {
  // A path in the scratch of the suite is wider than 80 columns.
  terminal.resize(160, 40)
  const { lines, isWrapped } = await terminal.output('stint demo')
  expect(isWrapped, lines.join('\n')).toBe(false)
})

test('a search without a hit says so on a terminal, and prints nothing to a pipe', async () => {
  const { lines } = await terminal.output('stint sessions search "no such text"')
  expect(lines).toEqual(['nothing found'])
  expect(await pipe('sessions search nowhere')).toBe('')
})

test('status fits a screen of 24 rows, and its command for the rest shows the rest', async () => {
  terminal.resize(80, 24)
  const { lines } = await terminal.output('stint status')
  // The prompt takes the last row.
  expect(lines.length, lines.join('\n')).toBeLessThan(24)
  expect(lines.join('\n')).toMatch(/^Sessions +270 closed, 30 crashed$/m)
  const [, rest, command] = /… (\d+) more crashed: (stint .*)$/m.exec(lines.join('\n')) ?? []
  const [titles, ...all] = (await terminal.output(command ?? '')).lines
  expect(titles).toMatch(/^ID +STATE/)
  expect([all.length, all.filter((line) => line.includes(' crashed ')).length]).toEqual([30, 30])
  const shown = lines.filter((line) => / crashed +\d/.test(line)).length
  expect(shown + Number(rest)).toBe(30)
})
