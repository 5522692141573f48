// Plays a scene with real processes, opens `stint ui` in Chromium, saves docs/ui.png: `npm run ui-picture`.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { hookCommand } from '../dist/hooks/install/command-text.js'
import { hosts } from '../dist/hooks/hosts/hosts.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const bin = join(root, 'dist/bin/stint.cjs')
const scene = realpathSync(mkdtempSync(join(tmpdir(), 'src-')))
const [shop, site] = ['shop', 'site'].map((name) => join(scene, name))
const home = join(scene, '.stint')
const isAgentVariable = (name) => /^(?:STINT_|CLAUDE|CODEX|GEMINI)/.test(name)
const inherited = Object.entries(process.env).filter(([name]) => !isAgentVariable(name))
const env = { ...Object.fromEntries(inherited), HOME: scene, STINT_HOME: home, STINT_TMP_ROOT: scene }
const children = []

function start(command, args, cwd = shop) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  children.push(child)
  return child
}
const stint = (args, cwd) => start(process.execPath, [bin, ...args], cwd)

/** An event of an agent, as its documentation has it. */
function eventOf(host, moment, session, cwd) {
  const fixtures = JSON.parse(readFileSync(join(root, `test/fixtures/hook-events/${host}.json`), 'utf8'))
  const text = JSON.stringify(fixtures[moment]).replaceAll('SESSION', session).replaceAll('CWD', cwd)
  return JSON.parse(text.replaceAll('CALL', 'call-1').replaceAll('FILE', 'src/a.ts'))
}

/** The command that the settings of an agent run at an event of this kind. */
function lineOf(host, kind) {
  const event = hosts[host].events.find((each) => each.kind === kind)
  return hookCommand(hosts[host], event, [process.execPath, join(root, 'dist/bin/stint-hook.cjs')], {})
}

/** A session of Claude Code in its own process, which asks its user for a permission. */
function startAsking(session, cwd) {
  const steps = ['pre', 'waiting'].map((kind) => [
    lineOf('claude', kind),
    eventOf('claude', kind, session, cwd),
  ])
  const program = `const { spawnSync } = require('node:child_process')
    for (const [line, event] of JSON.parse(process.argv[1]))
      spawnSync('sh', ['-c', line], { input: JSON.stringify(event) })
    console.log('asked')
    setInterval(() => {}, 1e6)`
  return start(process.execPath, ['-e', program, JSON.stringify(steps)], cwd)
}

/** A session of Claude Code in its own process, which uses a tool. */
function startAgent(session, more) {
  const kinds = ['pre', 'post', 'stop']
  const of = (make) => Object.fromEntries(kinds.map((kind) => [kind, make(kind)]))
  const plan = {
    lines: of((kind) => lineOf('claude', kind)),
    events: of((kind) => eventOf('claude', kind, session, shop)),
    workspace: shop,
    calls: 1,
    ...more,
  }
  return start(process.execPath, [join(root, 'test/fixtures/hook-agent.mjs'), JSON.stringify(plan)])
}

/** A recorded session whose process is killed in the middle of an act. */
async function crashSession() {
  const holder = fork(join(root, 'test/fixtures/session-holder.mjs'), [home], { cwd: shop, env })
  children.push(holder)
  const answer = async () => (await once(holder, 'message'))[0]
  const tell = async (order) => {
    const answered = answer()
    holder.send(order)
    return await answered
  }
  await answer()
  const options = { tool: 'import', title: 'Nightly import of orders', workspace: site }
  await tell({ do: 'create', options })
  await tell({ do: 'append', type: 'message', data: { text: 'order 1207 is priced' } })
  await tell({ do: 'act', key: 'order 1207', forever: true })
  holder.kill('SIGKILL')
  await once(holder, 'exit')
}

/** The address that `stint ui` prints. */
async function serve() {
  const [line] = await once(stint(['ui', '--no-open', '--json']).stdout.setEncoding('utf8'), 'data')
  return JSON.parse(line).data.url
}

async function takePicture(url) {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  const viewport = { width: 1280, height: 640 }
  const page = await browser.newPage({ viewport, reducedMotion: 'reduce', colorScheme: 'light' })
  await page.goto(url)
  for (const state of ['waits-for-you', 'crashed', 'waiting', 'working'])
    await page.waitForSelector(`.tile[data-state="${state}"]`)
  await page.waitForSelector('.row[data-state="refusal"]')
  await page.screenshot({ path: join(root, 'docs/ui.png') })
  await browser.close()
}

try {
  for (const directory of [shop, site]) mkdirSync(directory)
  await once(startAgent('5b1f6a02-77c1-4f0e-9a51-2f8a90ab4112', { hang: 600 }).stdout, 'data')
  startAgent('71aa0c3e-9d0b-4c1e-8f0a-1b2c3d4e5f60')
  stint([
    'run',
    '--lock',
    '--wait',
    '10m',
    '--session',
    'changelog',
    '--purpose',
    'write the changelog',
    '--',
    'true',
  ])
  stint(['run', '--', 'sh', '-c', 'head -c 12000000 /dev/zero >"$TMPDIR/cache"; sleep 600'], site)
  await once(startAsking('0199a3c4-6f1d-7b7e-8c55-1d2e3f4a5b6c', site).stdout, 'data')
  await crashSession()
  await takePicture(await serve())
} finally {
  for (const { pid, exitCode } of children) {
    try {
      if (exitCode === null) process.kill(-pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  rmSync(scene, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}
