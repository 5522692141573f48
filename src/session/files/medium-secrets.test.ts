import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import type { SessionStore } from '../store.ts'

const name = 'STINT_PLANTED_SECRET'
const value = 'pl4nted/S3cret+value=1234567890&x"y\\z ü'

let world: SessionWorld
let home: string
let store: SessionStore
beforeEach(() => {
  world = new SessionWorld()
  ;({ home, store } = world)
  process.env[name] = value
})
afterEach(async () => {
  delete process.env[name]
  await world[Symbol.asyncDispose]()
})

/** Everything under a directory as one string: names, targets of links, and contents of files. */
function everythingIn(directory: string): string {
  return readdirSync(directory)
    .map((entry) => {
      const path = join(directory, entry)
      const stat = lstatSync(path)
      if (stat.isDirectory()) return entry + everythingIn(path)
      return entry + (stat.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'latin1'))
    })
    .join('\n')
}

/** The secret in each form that it could have. */
const forms: [string, string][] = [
  ['as it is', value],
  ['in a URL', encodeURIComponent(value)],
  ['in hex', Buffer.from(value).toString('hex')],
  ['in hex, upper case', Buffer.from(value).toString('hex').toUpperCase()],
  ...['', 'a', 'ab'].map((before): [string, string] => [
    `in base64 after ${before.length} characters`,
    Buffer.from(`${before}${value} and more`).toString('base64'),
  ]),
  ['in base64url', Buffer.from(value).toString('base64url')],
  ['in JSON', JSON.stringify({ value })],
  ['in JSON in JSON', JSON.stringify(JSON.stringify({ value }))],
]

/** A part of each form that is long enough to reveal it, without its ends, which depend on the context. */
const telltales = [
  value,
  'pl4nted/S3cret',
  encodeURIComponent(value).slice(0, 30),
  Buffer.from(value).toString('hex').slice(0, 40),
  Buffer.from(value).toString('hex').toUpperCase().slice(0, 40),
  ...[0, 1, 2].map((shift) =>
    Buffer.from('_'.repeat(shift) + value)
      .toString('base64')
      .slice(4, 36),
  ),
]

test('a secret that a session has resolved is in no file of the home, in any form', async () => {
  const session = await store.create({
    secrets: [{ kind: 'env', name }],
    purpose: `use ${value}`,
    title: value,
  })
  const slot = session.slot<unknown>('plant', { version: '1', initial: 0 })
  for (const [what, form] of forms) {
    await session.append({ type: 'message', data: { what, form, [form]: [form, `x${form}y`] } })
    await session.append({ type: form.slice(0, 200) })
    await slot.set({ [form]: form })
    await session.annotate({ title: form, workspace: `/w/${form}`, mode: form })
    await session.audit({ action: form.slice(0, 200), subject: form, detail: { form } })
    const failing = session.act({ action: 'shell', subject: `curl ${form}`, key: form }, () => {
      throw Object.assign(new Error(`refused: ${form}`), { code: form })
    })
    await expect(failing).rejects.toThrow('refused')
    await session.act({ action: 'shell', subject: form }, () => ({ output: form }))
    await session.turn({ said: form })
  }
  await session.append({ type: 'big', data: `${'x'.repeat(300_000)}${value}${'y'.repeat(300_000)}` })
  await slot.set(`${'x'.repeat(300_000)}${value}`)
  await session.snapshot()
  await session.close()
  await store.visit(session.id, (visit) => visit.append({ type: 'visit', data: value }), {
    secrets: [{ ref: { kind: 'env', name }, value }],
  })
  const fork = await store.fork(session.id, { title: value, purpose: value })
  await fork.append({ type: 'note', data: value })
  await fork.close()
  await store.list()
  await store.remove(fork.id)
  const all = everythingIn(home)
  for (const telltale of telltales) expect(all.includes(telltale), telltale).toBe(false)
  expect(all).toContain(`<secret:env:${name}>`)
  expect(all.length).toBeGreaterThan(600_000)
})

test('the lines of a secret from a file are in no file of the home', async () => {
  const path = join(world.tmp, 'key.pem')
  const lines = [
    '-----BEGIN TEST KEY-----',
    'MIIBVgIBADANBgkqhkiG9w0BAQEF',
    'AASCAUAwggE8AgEAAkEAq7BFUpkG',
    '-----END TEST KEY-----',
  ]
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  await using session = await store.create()
  expect(session.secrets.resolve({ kind: 'file', name: path })).toBe(lines.join('\n'))
  for (const line of lines) await session.append({ type: 'note', data: `it says ${line}` })
  await session.append({ type: 'note', data: lines.join('\r\n') })
  const all = everythingIn(home)
  expect(all).not.toContain(lines[1])
  expect(all).not.toContain(lines[2])
})

test('an event whose type becomes too long by the name of a secret is written', async () => {
  await using session = await store.create()
  session.secrets.resolve({ kind: 'env', name })
  const { seq } = await session.append({ type: `${value}${'x'.repeat(200 - value.length)}` })
  expect((await session.tail(1))[0]).toMatchObject({
    seq,
    type: expect.stringContaining('<secret:env:') as string,
  })
})

test('a session whose manifest has lost the choice masks tokens, and its fork does, too', async () => {
  const session = await store.create()
  await session.close()
  const manifest = join(home, 'sessions', session.id, 'manifest.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"mask": ?"registered",/, ''))
  expect(readFileSync(manifest, 'utf8')).not.toContain('mask')
  await using resumed = await store.resume(session.id)
  await using fork = await resumed.fork()
  for (const each of [resumed, fork]) {
    await each.append({ type: 'note', data: `gh${'p_'}${'Ab3dEf9hIj'.repeat(4)}` })
    expect(await each.tail(1)).toMatchObject([{ data: '<masked:github-token>', masked: true }])
  }
})

test('visitors and purposes do not write the secrets that the manifest refers to', async () => {
  const session = await store.create({ secrets: [{ kind: 'env', name }] })
  const visit = (): Promise<unknown> =>
    store.visit(session.id, (visit) => visit.append({ type: 'left', data: value }), { purpose: value })
  await session.close()
  await visit()
  const resumed = await store.resume(session.id, { purpose: `use ${value}` })
  expect(everythingIn(home)).not.toContain('pl4nted')
  await resumed.close()
  const made = { secrets: [{ kind: 'env' as const, name }] }
  await store.visit(
    'made',
    async (visit) => {
      await visit.append({ type: 'left', data: value })
      expect(everythingIn(home)).not.toContain('pl4nted')
    },
    { create: made, purpose: value },
  )
  expect(everythingIn(home)).not.toContain('pl4nted')
})

test('a fork does not write the secrets that its session has resolved', async () => {
  await using session = await store.create()
  session.secrets.resolve({ kind: 'env', name })
  await using fork = await session.fork({ title: value, purpose: value })
  await fork.append({ type: 'note', data: value })
  expect(everythingIn(home)).not.toContain(value)
})

test('an id that contains a secret leaves no directory and nothing in the list cache', async () => {
  process.env[name] = 'pl4nted-S3cret'
  const secrets = [{ kind: 'env' as const, name }]
  await using session = await store.create({ secrets })
  const refused = { code: 'ARG_ERROR', message: expect.not.stringContaining('pl4nted') as string }
  const id = 'x-pl4nted-S3cret'
  await expect(store.create({ id, secrets })).rejects.toMatchObject(refused)
  await expect(session.fork({ id })).rejects.toMatchObject(refused)
  await expect(store.visit(id, () => {}, { create: { secrets } })).rejects.toMatchObject(refused)
  await store.list()
  expect(everythingIn(home)).not.toContain('pl4nted')
})

test('a secret that is passed in the place of a reference is refused, and not written', async () => {
  for (const secrets of [[value], value, [{ kind: value, name: value }]]) {
    await expect(store.create({ secrets: secrets as never })).rejects.toMatchObject({
      code: expect.stringMatching(/^(NAME_INVALID|ARG_ERROR)$/) as string,
      message: expect.not.stringContaining(value) as string,
    })
  }
  await using session = await store.create({
    secrets: [{ kind: 'env', name: 'NOT_SET', value } as never],
  })
  expect(session.manifest.revisions[0]?.secrets).toEqual([{ kind: 'env', name: 'NOT_SET' }])
  expect(everythingIn(home)).not.toContain(value)
})

test('a session whose title contained a secret before the secret was known can be closed', async () => {
  const session = await store.create({ title: value })
  session.secrets.resolve({ kind: 'env', name })
  await session.annotate({ title: `not ${value}` })
  await session.close()
  expect(session.manifest.revisions.map(({ title }) => title)).toEqual([
    value,
    `not <secret:env:${name}>`,
    undefined,
  ])
})

test('a session whose manifest names an unknown kind of secret is resumed, and only that reference is refused', async () => {
  const session = await store.create({ secrets: [{ kind: 'env', name }] })
  await session.close()
  const manifest = join(home, 'sessions', session.id, 'manifest.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"kind": ?"env"/, '"kind":"keyring"'))
  expect(readFileSync(manifest, 'utf8')).toContain('keyring')
  const resumed = await store.resume(session.id)
  for (const kind of ['keyring', 'vault'] as const)
    expect(() => resumed.secrets.resolve({ kind: kind as 'env', name })).toThrow(
      expect.objectContaining({ code: 'NAME_INVALID' }),
    )
  await resumed.close()
})
