import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf } from './support/doc-blocks.ts'
import { LockWorld } from './support/lock-world.ts'
import { PostgresServer } from './support/postgres.ts'
import { type Finished, projectRoot, stintBin } from './support/world.ts'

const blocks = (language: string): string[] =>
  blocksOf('docs/postgres.md')
    .filter((block) => block.language === language)
    .map(({ code }) => code)

let server: PostgresServer
let world: LockWorld
let database: string
let followed: Record<'setUp' | 'use' | 'useSessions', Finished>

/** A world in which the commands of docs/postgres.md run in their order; the tests check their effects. */
beforeAll(async () => {
  server = await PostgresServer.start()
  database = await server.createDatabase()
  world = new LockWorld()
  // As for a user: `stint` and `pg` are installed, and there is a program to deploy.
  const modules = join(world.workspace, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  symlinkSync(projectRoot, join(modules, 'stint'))
  symlinkSync(join(projectRoot, 'node_modules/pg'), join(modules, 'pg'))
  symlinkSync(stintBin, join(modules, '.bin/stint'))
  world.env.PATH = `${join(modules, '.bin')}:${world.env.PATH ?? ''}`
  writeScript('deploy.sh', 'exec test "$STINT_FENCE" -gt 0')
  writeScript('build.sh', 'exec test "$STINT_SESSION_ID" = nightly')

  const [setUp = '', use = '', useSessions = ''] = blocks('bash')
  const set = await run('sh', ['-e', '-c', here(setUp)])
  await server.admin(grants, database)
  const used = await run('sh', ['-e', '-c', here(use)])
  followed = { setUp: set, use: used, useSessions: await run('sh', ['-e', '-c', useSessions], asTeam()) }
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

/** Replaces the server of the page by the one of this test. */
const here = (code: string): string =>
  code
    .replaceAll('postgres://admin@db.example/team', `'${server.url({ database })}'`)
    .replaceAll(/postgres:\/\/(\w+):([\w-]+)@db\.example\/team/g, (_, user: string, password: string) => {
      return `'${server.url({ user, password, database })}'`
    })

const [grants = '', look = ''] = blocks('sql')
const [program = '', sessionsProgram = ''] = blocks('javascript')

const team = () => ({ user: 'stint_team', password: 'change-me', database })
const asTeam = () => ({ STINT_STORE: server.url(team()) })

const run = (command: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> =>
  world.start(command, args, { cwd: world.workspace, env }).finished

const stint = (line: string, env: NodeJS.ProcessEnv): Promise<Finished> =>
  world.stint([...line.split(' '), '--json'], { cwd: world.workspace, env })

function runProgram(name: string, source: string): Promise<Finished> {
  writeFileSync(join(world.workspace, name), source)
  return run(process.execPath, [name], asTeam())
}

test('the commands of the page work: migrate, create a role, and use leases as that role', async () => {
  expect(followed.setUp).toMatchObject({ code: 0, stderr: '' })
  expect(followed.use).toMatchObject({ code: 0, stderr: '' })
  expect(followed.use.stdout).toContain('"resource":"deploy:prod"')
  expect(await runProgram('program.mjs', program)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^mine, fence \d+\n$/) as string,
  })
})

test('the role of the page can use leases, but not delete them or create tables', async () => {
  const pool = server.pool(team())
  await expect(pool.query('DELETE FROM stint.register')).rejects.toThrow('permission denied')
  await expect(pool.query('CREATE TABLE stint.other ()')).rejects.toThrow('permission denied')
  for (const line of [
    'acquire --resource other --session a',
    'acquire --resource other --session a',
    'status --resource other --session a',
    'status --all',
    'release --resource other --session a',
  ])
    expect((await stint(`lock ${line}`, asTeam())).code, line).toBe(0)
})

test('the commands of the page about sessions work as the role of the page', async () => {
  expect(followed.useSessions).toMatchObject({ code: 0, stderr: '' })
  expect(followed.useSessions.stdout).toContain('"store":"filesystem"')
  expect(await server.admin(look, database)).toMatchObject([
    { type: 'started', data: { branch: 'main' } },
    { type: 'run.start' },
    { type: 'run.end', data: { exit_code: 0 } },
  ])
  expect(await runProgram('sessions.mjs', sessionsProgram)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: 'record 1, ok, true\n',
  })
  expect((await stint('postgres purge --older-than 0s --yes', asTeam())).code).toBe(7)
})

test('a role that may only read can run the commands that the page lists for it', async () => {
  await server.admin(
    `CREATE ROLE onlooker LOGIN PASSWORD 'look'; GRANT USAGE ON SCHEMA stint TO onlooker; GRANT SELECT ON ALL TABLES IN SCHEMA stint TO onlooker`,
    database,
  )
  const env = { STINT_STORE: server.url({ user: 'onlooker', password: 'look', database }) }
  for (const line of [
    'lock status',
    'lock status --all',
    'sessions show nightly',
    'sessions tail nightly -n all --json',
    'sessions tail nightly',
    'sessions verify nightly',
    'sessions list',
    'audit show nightly',
  ])
    expect((await stint(line, env)).code, line).toBe(0)
  for (const line of ['sessions append nightly --type note', 'lock acquire --session a --resource free'])
    expect((await stint(line, env)).code, line).toBe(7)
})
