import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { validEnvelope } from '../../../test/support/envelope.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresProxy } from '../../../test/support/postgres-proxy.ts'
import { postgresWorld } from '../../../test/support/postgres-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { UiClient } from '../../../test/support/ui-client.ts'
import { isRunning, stintBin, until, World } from '../../../test/support/world.ts'

const uiDirectory = (world: World): string => join(world.tmp, 'home', 'ui')

test('the first line is an envelope with the address, and a person gets the address and what to do', async () => {
  await using world = new World()
  const ui = await UiClient.start(world)
  const [line = ''] = ui.running.output().stdout.split('\n')
  expect(validEnvelope(`${line}\n`).data).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/),
    socket: join(uiDirectory(world), 'socket'),
    first: true,
  })
  const text = await world.stint(['ui', '--no-open'], { env: { STINT_OUTPUT: '' } })
  expect(text.stdout).toMatch(
    /^http:\/\/127\.0\.0\.1:\d+\/#token=\S+\nOpen this address once; it runs already\.\n$/,
  )
})

test('a second stint ui gives a new address of the first, and says that its own options do not count', async () => {
  await using world = new World()
  const first = await UiClient.start(world)
  const second = await UiClient.start(world, ['--port', '1'])
  expect((await second.running.finished).code).toBe(0)
  expect(second.running.output().stderr).toContain('runs with options of its own')
  expect([second.port, second.token === first.token]).toEqual([first.port, false])
  const [a, b] = [await first.signIn(), await first.signIn(second.token)]
  expect(a).toBe(b)
})

test('of several that start at once, one serves, and the others open its page', async () => {
  await using world = new World()
  const all = await Promise.all(Array.from({ length: 4 }, () => UiClient.start(world)))
  expect(new Set(all.map(({ port }) => port)).size).toBe(1)
  const serving = all.filter(({ running }) => running.output().stdout.includes('"first":true'))
  expect(serving).toHaveLength(1)
  for (const { running } of all.filter((each) => each !== serving[0]))
    expect((await running.finished).code).toBe(0)
  expect(readdirSync(uiDirectory(world))).toEqual(['socket'])
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s ends the server, and removes the socket', async (signal, code) => {
  await using world = new World()
  const ui = await UiClient.start(world)
  expect((await ui.read('/api/now')).tiles).toEqual([])
  ui.running.child.kill(signal)
  const { code: exit, stderr } = await ui.running.finished
  expect([exit, stderr]).toEqual([code, ''])
  expect(readdirSync(uiDirectory(world))).toEqual([])
})

test('Ctrl-C in a terminal ends it, and so does closing the terminal', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const terminal = await Terminal.open(world)
  try {
    terminal.enter('stint ui --no-open')
    await terminal.shows(/#token=[\s\S]*Ctrl-C ends it/)
    terminal.press('C-c')
    await terminal.shows(/^\[130\] ready>$/m)
    terminal.enter('stint ui --no-open')
    await until('the second server runs', () => existsSync(join(uiDirectory(world), 'socket')))
  } finally {
    await terminal[Symbol.asyncDispose]()
  }
  await until('the server has ended with its terminal', () => !existsSync(join(uiDirectory(world), 'socket')))
})

test('after kill -9 the next one starts anew, and takes the place of the dead socket', async () => {
  await using world = new World()
  const first = await UiClient.start(world)
  first.running.child.kill('SIGKILL')
  await first.running.finished
  expect(existsSync(first.socket)).toBe(true)
  const second = await UiClient.start(world)
  expect([isRunning(second.running.pid), (await second.read('/api/now')).tiles]).toEqual([true, []])
  expect(readdirSync(uiDirectory(world))).toEqual(['socket'])
})

test('in a home whose path is too long for a socket, the page works without it', async () => {
  await using world = new World()
  world.env.STINT_HOME = join(world.tmp, 'h'.repeat(200))
  const ui = await UiClient.start(world)
  expect(ui.running.output().stderr).toContain('there is no socket for scripts')
  expect((await ui.asPage('/api/now', await ui.signIn())).status).toBe(200)
})

test('on a full disk the page works without the socket, and actions say that the disk is full', async () => {
  await using world = new World()
  const script = `mkdir -p "$STINT_HOME"; mount -t tmpfs -o size=64k,nr_inodes=64,mode=0700 tmpfs "$STINT_HOME"
    "$0" "$1" lock acquire --resource deploy --session hung > /dev/null
    cat /dev/zero > "$STINT_HOME/x" 2>/dev/null; n=0; while touch "$STINT_HOME/$n" 2>/dev/null; do n=$((n + 1)); done
    exec "$0" "$1" "$@"`
  const ui = await UiClient.start(world, [], {
    start: (args) =>
      world.startUnshared(['--mount'], 'sh', [
        '-c',
        script.replace('"$@"', args.join(' ')),
        process.execPath,
        stintBin,
      ]),
  })
  expect(ui.running.output().stderr).toMatch(/there is no socket for scripts.*ENOSPC|no space/s)
  const secret = await ui.signIn()
  const now = (await ui.asPage('/api/now', secret)).json
  expect(now.findings).toContainEqual(expect.objectContaining({ name: 'home disk', level: 'fail' }))
  const [{ session_id, holds }] = now.tiles
  const body = { session_id, key: holds[0].key, fence: holds[0].fence }
  const broken = await ui.asPage('/api/actions/break', secret, { method: 'POST', body })
  expect([broken.status, broken.json.error.code]).toEqual([507, 'DISK_FULL'])
  expect((await ui.asPage('/api/now', secret)).status).toBe(200)
})

test('a lost connection to PostgreSQL is shown, the files stay visible, and it comes back by itself', async () => {
  await using server = await PostgresServer.start()
  await using world = await postgresWorld(server)
  await using proxy = await PostgresProxy.to(server.directory)
  const { STINT_STORE: direct = '', ...env } = world.env
  world.env.STINT_STORE = 'files'
  await world.lock(['acquire', '--session', 'in-files'])
  const store = { STINT_STORE: direct }
  const acquired = await world.stint(['lock', 'acquire', '--resource', 'deploy', '--session', 'on-server'], {
    env: store,
  })
  expect(acquired.code).toBe(0)
  const url = direct.replaceAll(encodeURIComponent(server.directory), encodeURIComponent(proxy.directory))
  expect(url).not.toBe(direct)
  const ui = await UiClient.start(world, ['--store', url.replace(/#.*/, '')], { env })
  const storeFinding = ({ findings }: { findings: { name: string }[] }) =>
    findings.find(({ name }) => name === 'postgres')
  const sessionsOf = (now: { tiles: { session_id: string }[] }) =>
    now.tiles.map(({ session_id }) => session_id).sort()
  const before = await ui.read('/api/now')
  expect([sessionsOf(before), storeFinding(before)]).toEqual([['in-files', 'on-server'], undefined])
  proxy.redirect('/nowhere')
  const lost = await ui.view(storeFinding)
  expect([sessionsOf(lost), storeFinding(lost)]).toEqual([
    ['in-files'],
    expect.objectContaining({ level: 'fail' }),
  ])
  for (const path of ['/api/workspaces', '/api/sessions']) {
    const asked = await ui.bySocket(path)
    expect([asked.status, asked.json.error.code]).toEqual([503, expect.stringMatching(/^POSTGRES_/)])
    expect(asked.text).not.toContain('password')
  }
  proxy.redirect(server.directory)
  const back = await ui.view((now) => storeFinding(now) === undefined)
  expect(sessionsOf(back)).toEqual(['in-files', 'on-server'])
  expect(await ui.read('/api/workspaces')).toMatchObject({ workspaces: [{}, {}] })
})

test('a port that is taken or impossible is an error, and leaves nothing', async () => {
  await using world = new World()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const taken = await world.stint(['ui', '--no-open', '--port', String(port)])
  expect([taken.code, taken.stderr]).toEqual([6, expect.stringContaining('PORT_TAKEN')])
  other.close()
  for (const given of ['0', '65536', 'x']) expect((await world.stint(['ui', '--port', given])).code).toBe(2)
  expect(existsSync(uiDirectory(world))).toBe(false)
})
