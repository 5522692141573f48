import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LockWorld } from './support/lock-world.ts'
import { PostgresServer } from './support/postgres.ts'
import { projectRoot, stintBin } from './support/world.ts'

const page = readFileSync(join(projectRoot, 'docs/postgres.md'), 'utf8')
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

let server: PostgresServer
let world: LockWorld
let database: string
beforeAll(async () => {
  server = await PostgresServer.start()
  database = await server.createDatabase()
  world = new LockWorld()
  // As a user has it: `stint` and `pg` are installed, and there is something to deploy.
  const modules = join(world.workspace, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  symlinkSync(projectRoot, join(modules, 'stint'))
  symlinkSync(join(projectRoot, 'node_modules/pg'), join(modules, 'pg'))
  symlinkSync(stintBin, join(modules, '.bin/stint'))
  world.env.PATH = `${join(modules, '.bin')}:${world.env.PATH ?? ''}`
  writeScript('deploy.sh', 'exec test "$STINT_FENCE" -gt 0')
  writeScript('build.sh', 'exec test "$STINT_SESSION_ID" = nightly')
})

function writeScript(name: string, command: string): void {
  const script = join(world.workspace, name)
  writeFileSync(script, `#!/bin/sh\n${command}\n`)
  chmodSync(script, 0o755)
}

afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** The page's server is ours. */
const here = (code: string): string =>
  code
    .replaceAll('postgres://admin@db.example/team', `'${server.url({ database })}'`)
    .replaceAll(/postgres:\/\/(\w+):([\w-]+)@db\.example\/team/g, (_, user: string, password: string) => {
      return `'${server.url({ user, password, database })}'`
    })

const [setUp = '', use = '', useSessions = ''] = blocks('bash')
const [grants = '', look = ''] = blocks('sql')

test('the page can be followed: migrate, make a role that may do only this, and use it', async () => {
  const run = (code: string) => world.start('sh', ['-e', '-c', here(code)], { cwd: world.workspace }).finished
  expect(await run(setUp)).toMatchObject({ code: 0, stderr: '' })
  await server.admin(grants, database)
  const used = await run(use)
  expect(used).toMatchObject({ code: 0, stderr: '' })
  expect(used.stdout).toContain('"resource":"deploy:prod"')

  const role = { user: 'stint_team', password: 'change-me', database }
  const pool = server.pool(role)
  await expect(pool.query('DELETE FROM stint.register')).rejects.toThrow('permission denied')
  await expect(pool.query('CREATE TABLE stint.other ()')).rejects.toThrow('permission denied')
  world.env.STINT_STORE = server.url(role)
  for (const command of ['acquire', 'refresh', 'check', 'status', 'list', 'release']) {
    const on = command === 'list' ? [] : ['--resource', 'other']
    const flags = ['status', 'list'].includes(command) ? on : ['--session', 'a', ...on]
    expect((await world.lock([command, ...flags])).code).toBe(0)
  }

  const [program = ''] = blocks('javascript')
  writeFileSync(join(world.workspace, 'program.mjs'), program)
  const ran = await world.start(process.execPath, ['program.mjs'], { cwd: world.workspace }).finished
  expect(ran).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^mine, fence \d+\n$/) as string,
  })
})

test('the part about sessions can be followed, as the role that may do only this', async () => {
  const role = { user: 'stint_team', password: 'change-me', database }
  const STINT_STORE = server.url(role)
  const options = { cwd: world.workspace, env: { STINT_STORE } }
  const ran = await world.start('sh', ['-e', '-c', useSessions], options).finished
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(ran.stdout).toContain('"store":"filesystem"')
  expect(await server.admin(look, database)).toMatchObject([
    { type: 'started', data: { branch: 'main' } },
    { type: 'run.start' },
    { type: 'run.end', data: { exit_code: 0 } },
  ])
  const [, program = ''] = blocks('javascript')
  writeFileSync(join(world.workspace, 'sessions.mjs'), program)
  expect(await world.start(process.execPath, ['sessions.mjs'], options).finished).toMatchObject({
    code: 0,
    stderr: '',
    stdout: 'record 1, ok, true\n',
  })
  const refused = await world.stint(['postgres', 'purge', '--older-than', '0s', '--yes', '--json'], options)
  expect(refused.code).toBe(7)
})

test('who may only read can look', async () => {
  await server.admin(
    `CREATE ROLE onlooker LOGIN PASSWORD 'look'; GRANT USAGE ON SCHEMA stint TO onlooker; GRANT SELECT ON ALL TABLES IN SCHEMA stint TO onlooker`,
    database,
  )
  world.env.STINT_STORE = server.url({ user: 'onlooker', password: 'look', database })
  for (const command of [['status'], ['list'], ['check', '--session', 'a']])
    expect((await world.lock(command)).code).toBe(0)
  for (const command of ['show', 'events', 'tail', 'verify'])
    expect((await world.stint(['sessions', command, 'nightly'])).code).toBe(0)
  expect((await world.stint(['sessions', 'list'])).code).toBe(0)
  expect((await world.stint(['audit', 'show', 'nightly'])).code).toBe(0)
  expect((await world.stint(['sessions', 'append', 'nightly', '--type', 'note'])).code).toBe(7)
  expect((await world.lock(['acquire', '--session', 'a', '--resource', 'free'])).code).toBe(7)
})
