import {
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { UiClient } from '../../../test/support/ui-client.ts'
import { isRoot, openToAll, until, World } from '../../../test/support/world.ts'

test('a page that is not ours gets neither data nor a token, whatever name or headers it uses', async () => {
  await using world = new World()
  const ui = await UiClient.start(world)
  const secret = await ui.signIn()
  const as = async (headers: Record<string, string | undefined>, path = '/api/now'): Promise<number> =>
    (await ui.asPage(path, secret, { headers })).status
  expect(await as({})).toBe(200)
  expect(await as({ host: `evil.example:${ui.port}` })).toBe(403)
  expect(await as({ host: `evil.example:${ui.port}` }, '/')).toBe(403)
  expect(await as({ host: `localhost:${ui.port}` })).toBe(403)
  expect(await as({ origin: 'https://evil.example' })).toBe(403)
  expect(await as({ origin: `http://127.0.0.1:${ui.port + 1}`, 'sec-fetch-site': 'same-site' })).toBe(403)
  expect(await as({ 'sec-fetch-site': 'cross-site' })).toBe(403)
  expect(await as({ 'sec-fetch-site': undefined })).toBe(403)
  const token = { method: 'POST', body: { token: new URL(ui.url).hash.slice(7) } } as const
  const stolen = await ui.asPage('/api/token', undefined, {
    ...token,
    headers: { 'sec-fetch-site': 'cross-site' },
  })
  expect([stolen.status, stolen.text.includes('secret":')]).toEqual([403, false])
  for (const { headers } of [await ui.asPage('/api/now', secret), await ui.asPage('/'), stolen]) {
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(headers['set-cookie']).toBeUndefined()
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
    )
  }
})

test('without the secret there is no data, and a token is exchanged once', async () => {
  await using world = new World()
  const ui = await UiClient.start(world)
  for (const path of ['/api/now', '/api/sessions', '/api/workspaces', '/api/search?q=x'])
    expect((await ui.asPage(path)).status, path).toBe(401)
  expect((await ui.asPage('/api/now', 'guessed')).status).toBe(401)
  const body = { token: ui.token }
  const first = await ui.asPage('/api/token', undefined, { method: 'POST', body })
  expect(first.json).toEqual({ secret: expect.stringMatching(/^[\w-]{43}$/) })
  const replayed = await ui.asPage('/api/token', undefined, { method: 'POST', body })
  expect([replayed.status, replayed.json.error.hint]).toEqual([401, expect.stringContaining('stint ui')])
})

test('files of the page need no secret, have no data in them, and lead to no other file', async () => {
  await using world = new SessionWorld()
  await world.make('ses_private')
  const ui = await UiClient.start(world)
  const page = await ui.asPage('/')
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(page.text).not.toContain('ses_private')
  for (const path of [
    '/../package.json',
    '/..%2fpackage.json',
    '/%2e%2e/bin/main.cjs',
    '/etc/passwd.txt',
    '//x.js',
    '/sessions/ses_private',
  ])
    expect((await ui.asPage(path)).status, path).toBe(404)
})

test('a squatter on the port of a server that has ended gets a secret that opens nothing', async () => {
  await using world = new World()
  const first = await UiClient.start(world)
  const secret = await first.signIn()
  first.running.child.kill('SIGINT')
  expect((await first.running.finished).code).toBe(130)
  let heard = ''
  const squatter = createServer((socket) => {
    socket.on('data', (piece) => {
      heard += piece.toString()
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
    })
  }).listen(first.port, '127.0.0.1')
  await once(squatter, 'listening')
  // A tab that was left open goes on asking.
  await first.asPage('/api/now', secret)
  expect(heard).toContain(secret)
  squatter.close()
  await once(squatter, 'close')
  const next = await UiClient.start(world, ['--port', String(first.port)])
  expect(next.port).toBe(first.port)
  expect((await next.asPage('/api/now', secret)).status).toBe(401)
  expect(
    (await next.asPage('/api/token', undefined, { method: 'POST', body: { token: first.token } })).status,
  ).toBe(401)
})

test('no worker can stay in the browser, and each server has a port of its own', async () => {
  await using world = new World()
  const ui = await UiClient.start(world)
  const worker = { 'service-worker': 'script', 'sec-fetch-dest': 'serviceworker' }
  expect((await ui.asPage('/page.js', undefined, { headers: worker })).status).toBe(403)
  expect((await ui.asPage('/page.js')).status).toBe(200)
  const chosen = await UiClient.start(world, [], { env: { STINT_HOME: join(world.tmp, 'other') } })
  expect(chosen.port).not.toBe(ui.port)
  chosen.running.child.kill('SIGTERM')
  await chosen.running.finished
  const { stderr } = (
    await UiClient.start(world, ['--port', String(chosen.port)], {
      env: { STINT_HOME: join(world.tmp, 'third') },
    })
  ).running.output()
  expect(stderr).toContain('may have left a worker in your browser')
})

test.runIf(isRoot)(
  'another user can neither use the socket, nor put one there that this user trusts',
  async () => {
    await using world = new World({}, openToAll)
    const ui = await UiClient.start(world)
    expect([statSync(ui.socket).mode & 0o777, statSync(join(ui.socket, '..')).mode & 0o777]).toEqual([
      0o600, 0o700,
    ])
    const connect = `require('net').connect(process.argv[1]).on('error', (e) => console.log(e.code)).on('connect', () => console.log('in'))`
    const other = world.start(process.execPath, ['-e', connect, ui.socket], {
      uid: 65534,
      gid: 65534,
      cwd: '/',
    })
    expect((await other.finished).stdout.trim()).toBe('EACCES')
    ui.running.child.kill('SIGKILL')
    await ui.running.finished
    // As if the other user had made it: a server there would get no questions.
    chownSync(ui.socket, 65534, 65534)
    const refused = await world.stint(['ui', '--no-open'])
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('belongs to user 65534')])
  },
)

/** Opens connections that send half a request, and prints how many are open and how many were ended. */
const halfOpen = `
  const { connect } = require('node:net')
  const [port, count] = process.argv.slice(1).map(Number)
  let [open, ended] = [0, 0]
  for (let made = 0; made < count; made++)
    connect(port, '127.0.0.1', function () {
      this.write('GET / HTTP/1.1\\r\\nHost: 127')
      if (++open === count) console.log('all open')
    })
      .on('error', () => {})
      .on('close', () => ++ended === count && console.log('all ended'))`

test.runIf(isRoot)(
  'a hundred and more half-open connections of another user do not keep the owner out, and are ended',
  async () => {
    await using world = new World()
    const ui = await UiClient.start(world)
    const count = 300
    const stranger = world.start(process.execPath, ['-e', halfOpen, String(ui.port), String(count)], {
      uid: 65534,
      gid: 65534,
      cwd: '/',
    })
    await until('the connections are open', () => stranger.output().stdout.includes('all open'))
    const secret = await ui.signIn()
    expect((await ui.asPage('/')).status).toBe(200)
    expect((await ui.asPage('/api/now', secret)).status).toBe(200)
    expect(stranger.output().stdout).not.toContain('all ended')
    await until('all of them are ended', () => stranger.output().stdout.includes('all ended'))
  },
)

test('a connection that shows the secret lasts, and one that does not is ended in time', async () => {
  await using world = new World()
  const ui = await UiClient.start(world)
  const secret = await ui.signIn()
  const asked = async (headers: Record<string, string>) => {
    const socket = connect(ui.port, '127.0.0.1')
    let heard = ''
    socket.setEncoding('utf8').on('data', (piece: string) => (heard += piece))
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const ask = (): boolean => socket.write(`GET /api/now HTTP/1.1\r\n${lines.join('')}\r\n`)
    ask()
    await until('the server has answered', () => heard !== '')
    return { socket, ask, heard: () => heard }
  }
  const owner = await asked(ui.pageHeaders(secret))
  const stranger = await asked(ui.pageHeaders('guessed'))
  expect([owner.heard(), stranger.heard()]).toEqual([
    expect.stringContaining('200 OK'),
    expect.stringContaining('401'),
  ])
  const half = connect(ui.port, '127.0.0.1')
  half.write('POST /api/token HTTP/1.1\r\n')
  // The page asks again and again: without that, Node would end an idle connection.
  const asking = setInterval(owner.ask, 2000)
  await Promise.all([once(half, 'close'), once(stranger.socket, 'close')])
  clearInterval(asking)
  expect(owner.socket.closed).toBe(false)
  owner.socket.destroy()
})

test.each([
  ['a link', (path: string) => symlinkSync('/dev/null', path)],
  ['a file', (path: string) => writeFileSync(path, '')],
])('%s in place of the socket is left alone, and refused', async (_, make) => {
  await using world = new World()
  const ui = await UiClient.start(world)
  ui.running.child.kill('SIGTERM')
  await ui.running.finished
  make(ui.socket)
  const { code, stderr } = await world.stint(['ui', '--no-open'])
  expect([code, stderr]).toEqual([4, expect.stringContaining('is not a socket (HOME_UNSAFE)')])
  expect(existsSync(ui.socket)).toBe(true)
})

test('no argument of a process has a token: the browser gets a file that only its user can read', async () => {
  await using world = new World()
  const browser = join(world.tmp, 'browser')
  writeFileSync(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > '${browser}.args'; sleep 60\n`, { mode: 0o755 })
  const running = world.startStint(['ui'], { env: { BROWSER: `${browser} %s:firefox`, STINT_OUTPUT: '' } })
  await until(
    'the browser was started',
    () => existsSync(`${browser}.args`) && statSync(`${browser}.args`).size > 0,
  )
  const file = readFileSync(`${browser}.args`, 'utf8').trim()
  expect([file.startsWith(join(world.tmp, 'home', 'ui', 'open-')), statSync(file).mode & 0o777]).toEqual([
    true,
    0o600,
  ])
  const address = /url=(http:\/\/127\.0\.0\.1:\d+\/#token=([\w-]+))"/.exec(readFileSync(file, 'utf8'))
  const [, url = '', token = ''] = address ?? []
  const printed = running.output().stdout
  expect([token.length, printed.includes('Opening your browser'), printed.includes(token)]).toEqual([
    43,
    true,
    false,
  ])
  for (const pid of world.processes()) {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    expect([command.includes(token), command.includes('#token=')]).toEqual([false, false])
  }
  const ui = await UiClient.start(world)
  expect(await ui.signIn(token)).toMatch(/^[\w-]{43}$/)
  expect([url.includes(String(ui.port)), existsSync(file)]).toEqual([true, false])
  running.child.kill('SIGTERM')
  await running.finished
  expect(readdirSync(join(world.tmp, 'home', 'ui'))).toEqual([])
})

test('hostile titles and events arrive as data: in one line, without control characters, and cut', async () => {
  await using world = new SessionWorld()
  const hostile = `<script>alert(1)</script>\u001b]0;owned\u0007\u009b31m\u202egnp.exe\u2066`
  {
    await using session = await world.store.create({
      id: 'ses_bad',
      tool: hostile,
      title: `${hostile}${'x'.repeat(1 << 20)}`,
    })
    await session.append({ type: hostile, data: { text: hostile, long: 'y'.repeat(1 << 20) } })
    await session.audit({ action: hostile, subject: `${hostile}${'z'.repeat(100_000)}` })
  }
  const ui = await UiClient.start(world)
  for (const path of [
    '/api/now',
    '/api/sessions',
    '/api/session?id=ses_bad',
    '/api/events?id=ses_bad',
    '/api/search?q=script',
  ]) {
    const { status, text, headers } = await ui.bySocket(path)
    expect([path, status]).toEqual([path, 200])
    expect(text, path).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u)
    expect([path, text.length < 300_000, headers['x-content-type-options']]).toEqual([path, true, 'nosniff'])
  }
  const { sessions } = await ui.read('/api/sessions')
  expect(sessions[0].recorded.title.slice(0, hostile.length)).toBe(hostile)
  const { events } = await ui.read('/api/events?id=ses_bad')
  expect([events[0].type, events[0].cut > 1 << 20, events[0].data.length]).toEqual([hostile, true, 4000])
})

test('a page of large events and acts is made in little memory', async () => {
  await using world = new SessionWorld()
  {
    await using session = await world.store.create({ id: 'ses_large' })
    // Equal data is on disk once, and is read for each event.
    const large = 'x'.repeat(4 << 20)
    for (let n = 1; n <= 20; n++) {
      await session.append({ type: 'large', data: { large } })
      await session.audit({ action: 'large', detail: { large } })
    }
  }
  // Each half of these 160 MiB is more than the server may have.
  const ui = await UiClient.start(world, [], { env: { NODE_OPTIONS: '--max-old-space-size=64' } })
  const page = await ui.read('/api/events?id=ses_large')
  expect([page.events.length, page.acts.length]).toEqual([20, 20])
  const begin = `{"large":"${'x'.repeat(4000 - 10)}`
  expect(page.events[19]).toMatchObject({ seq: 20, data: begin, cut: (4 << 20) + 12 })
  expect(page.acts[19].detail).toBe(`${begin}…`)
})
