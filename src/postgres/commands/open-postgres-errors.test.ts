import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { grants } from '../../../test/support/postgres-world.ts'
import { type Finished, until } from '../../../test/support/world.ts'
import { migrationScript, schemaVersion } from '../schema.ts'

/** Contains characters that must be escaped in a URL. */
const password = 'hunter2/@:%'
const secrets = ['hunter2', encodeURIComponent(password)]

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
  await server.admin(`
    CREATE ROLE member LOGIN PASSWORD '${password}';
    CREATE ROLE stranger LOGIN PASSWORD '${password}';
    CREATE ROLE reader LOGIN PASSWORD '${password}';
    CREATE ROLE crowded LOGIN PASSWORD '${password}' CONNECTION LIMIT 0;
    ALTER ROLE reader SET default_transaction_read_only = on`)
  for (const database of ['empty', 'team', 'newer']) await server.admin(`CREATE DATABASE ${database}`)
  await server.admin(migrationScript() + grants('member') + grants('reader'), 'team')
  await server.admin(
    `${migrationScript()}${grants('member')} INSERT INTO stint.migration (version) VALUES (${schemaVersion + 1})`,
    'newer',
  )
})
afterAll(() => server[Symbol.asyncDispose]())

const as =
  (user: string, database = 'team') =>
  () =>
    server.url({ user, password, database })

interface Case {
  what: string
  url: () => string
  exit: number
  code: string
  /** A part of the suggestion. */
  says: string
}

const cases: Case[] = [
  {
    what: 'an invalid URL',
    url: () => `postgres://member:${secrets[1]}@host:port/team`,
    exit: 2,
    code: 'ARG_ERROR',
    says: 'postgres://user@host',
  },
  {
    what: 'a password that is not escaped in the URL',
    url: () => `postgres://member:${password}@host/team`,
    exit: 2,
    code: 'ARG_ERROR',
    says: '%40',
  },
  {
    what: 'another kind of store',
    url: () => `mysql://member:${password}@host/team`,
    exit: 2,
    code: 'ARG_ERROR',
    says: 'postgres://user@host',
  },
  {
    what: 'a port on which no server listens',
    url: () => `postgres://member:${secrets[1]}@127.0.0.1:1/team`,
    exit: 12,
    code: 'POSTGRES_UNAVAILABLE',
    says: 'Check the host',
  },
  {
    what: 'a socket that does not exist',
    url: () => server.url({ user: 'member', password }).replace('stint-pg-', 'no-such-'),
    exit: 12,
    code: 'POSTGRES_UNAVAILABLE',
    says: 'Check the host',
  },
  {
    what: 'a wrong password',
    url: () => server.url({ user: 'member', password: 'hunter2', database: 'team' }),
    exit: 7,
    code: 'POSTGRES_DENIED',
    says: 'PGPASSWORD',
  },
  {
    what: 'no password',
    url: () => server.url({ user: 'member', database: 'team' }),
    exit: 7,
    code: 'POSTGRES_DENIED',
    says: 'PGPASSWORD',
  },
  {
    what: 'a role that does not exist',
    url: as('nobody'),
    exit: 7,
    code: 'POSTGRES_DENIED',
    says: 'Check user',
  },
  {
    what: 'a role without the grants',
    url: as('stranger'),
    exit: 7,
    code: 'POSTGRES_DENIED',
    says: 'docs/postgres.md',
  },
  {
    what: 'a database that does not exist',
    url: as('member', 'other'),
    exit: 4,
    code: 'POSTGRES_SCHEMA',
    says: 'Create that database',
  },
  {
    what: 'a database without the schema',
    url: as('member', 'empty'),
    exit: 4,
    code: 'POSTGRES_SCHEMA',
    says: 'stint postgres migrate',
  },
  {
    what: 'a schema that is too new',
    url: as('member', 'newer'),
    exit: 4,
    code: 'POSTGRES_SCHEMA',
    says: 'newer version of stint',
  },
  {
    what: 'a role whose transactions are read-only',
    url: as('reader'),
    exit: 4,
    code: 'POSTGRES_READ_ONLY',
    says: 'primary',
  },
  {
    what: 'no connection left',
    url: as('crowded'),
    exit: 12,
    code: 'POSTGRES_UNAVAILABLE',
    says: 'try again',
  },
]

const saysNoSecret = ({ stdout, stderr }: Finished): void => {
  for (const secret of secrets) expect(stdout + stderr).not.toContain(secret)
}

describe.each(cases)('$what', ({ url, exit, code, says }) => {
  test(`exits with ${exit} and ${code}, suggests what to do, and prints no password`, async () => {
    await using world = new LockWorld()
    const env = { STINT_STORE: url(), STINT_DEBUG: '1' }
    const acquire = ['lock', 'acquire', '--session', 'a', '--json', '--store', url()]
    const [envelope, text] = await Promise.all([
      world.stint(acquire, { cwd: world.workspace }),
      world.stint(['run', '--lock', '--', 'touch', 'ran'], { env, cwd: world.workspace }),
    ])
    expect([envelope.code, text.code]).toEqual([exit, exit])
    expect(readdirSync(world.workspace)).toEqual(['.git'])
    expect(errorOf(envelope)).toMatchObject({ code, suggestion: expect.stringContaining(says) as string })
    expect(errorOf(envelope)?.retryable).toBe(exit === 12)
    expect(text.stderr).toContain(`(${code})\n`)
    for (const result of [envelope, text]) saysNoSecret(result)
  })
})

test('a role that may only read can run lock status', async () => {
  await using world = new LockWorld()
  const env = { STINT_STORE: as('reader')() }
  const status = await world.stint(['lock', 'status', '--json'], { env, cwd: world.workspace })
  expect(status.envelope()).toMatchObject({ ok: true, data: { claims: [] } })
})

test('stint warns of a password in --store and hides it from the process list', async () => {
  await using world = new LockWorld()
  const url = as('member')()
  const flags = ['--store', url, '--resource', 'listed']
  const first = await world.stint(['lock', 'acquire', '--session', 'a', '--json', ...flags])
  expect(first.envelope()).toMatchObject({ ok: true, warnings: [expect.stringContaining('STINT_STORE')] })
  saysNoSecret(first)
  const waiting = world.startStint(['lock', 'acquire', '--session', 'b', '--wait', '10m', ...flags])
  const commandLine = (): string => readFileSync(`/proc/${waiting.pid}/cmdline`, 'utf8')
  await until('the arguments are hidden', () => commandLine().startsWith('stint'))
  expect(commandLine()).not.toContain('hunter2')
  waiting.child.kill('SIGTERM')
  saysNoSecret(await waiting.finished)
})
