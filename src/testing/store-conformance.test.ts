import { expect, test } from 'vitest'
import { type Memory, memoryMedium } from '../../examples/driver/memory-store.ts'
import type { HeldMedium, Medium, ReadableMedium } from '../session/index.ts'
import { storeConformance } from './store-conformance.ts'

/** A medium that breaks one promise. `held` and `read` change the sessions that it opens. */
interface Mutation {
  promise: string
  medium?: (real: Medium, memory: Memory) => Partial<Medium>
  held?: (real: HeldMedium, memory: Memory) => Partial<HeldMedium>
  read?: (real: ReadableMedium) => Partial<ReadableMedium>
}

/** A session with some of its members replaced; the others are those of the real one, getters included. */
function changed<Session extends object>(real: Session, change: Partial<Session> | undefined): Session {
  if (change === undefined) return real
  return new Proxy(real, {
    get(target, name) {
      const source = Object.hasOwn(change, name) ? change : target
      const value: unknown = Reflect.get(source, name, source)
      return typeof value === 'function' ? (value.bind(source) as unknown) : value
    },
  })
}

const holderOf = (memory: Memory, { manifest }: ReadableMedium) => memory.get(manifest.session_id)

const mutations: Mutation[] = [
  {
    promise: 'a session that exists is not created again',
    medium: (real, memory) => ({
      create(manifest, hold) {
        memory.delete(manifest.session_id)
        return real.create(manifest, hold)
      },
    }),
  },
  {
    promise: 'a session that is held is not opened',
    medium: (real) => ({ open: (id, hold) => real.open(id, { ...hold, force: true }) }),
  },
  {
    promise: 'a living holder loses its session to a forced open',
    medium: (real) => ({ open: (id, hold) => real.open(id, { ...hold, force: false }) }),
  },
  {
    promise: 'a session that is held is not removed',
    medium: (_, memory) => ({ remove: async (id) => void memory.delete(id) }),
  },
  {
    promise: 'a session that does not exist is not found',
    medium: (real, memory) => ({
      read: (id) => real.read(memory.has(id) ? id : ([...memory.keys()][0] ?? id)),
    }),
  },
  {
    promise: 'a removed session is gone',
    medium: (real) => ({ remove: async (id) => void (await real.read(id)) }),
  },
  ...(['append', 'saveState', 'saveManifest', 'beat', 'release'] as const).map((name): Mutation => ({
    promise: `${name} of a holder that has lost its session is FENCED`,
    held: (real, memory) => ({
      [name]: async (...given: never[]): Promise<unknown> => {
        const session = holderOf(memory, real)
        const { holder } = session ?? {}
        // As if the medium did not compare the holders.
        try {
          return await (real[name] as (...given: never[]) => Promise<unknown>)(...given)
        } catch (error) {
          if ((error as { code?: string }).code !== 'FENCED' || session === undefined) throw error
          if (name === 'append') {
            const [log, group] = given as unknown as Parameters<HeldMedium['append']>
            session.groups[log].push({ ...group, lines: Buffer.from(group.lines) })
            return group.end
          }
          session.holder = holder
          return undefined
        }
      },
    }),
  })),
  {
    promise: 'what is appended is read',
    held: () => ({ append: async (_, { end }) => end }),
  },
  {
    promise: 'lines are kept as they are',
    held: (real) => ({
      append: (log, group) =>
        real.append(log, { ...group, lines: Buffer.from(group.lines.toString('latin1'), 'utf8') }),
    }),
  },
  {
    promise: 'an append returns where the log ends',
    held: (real) => ({
      async append(log, group) {
        await real.append(log, group)
        return { ...group.end, seq: group.end.seq + 1 }
      },
    }),
  },
  {
    promise: 'regions come in order',
    read: (real) => ({ regions: (log) => real.regions(log, { from: 0, backwards: true }) }),
  },
  {
    promise: 'regions come from the end if that is asked for',
    read: (real) => ({ regions: (log) => real.regions(log, { from: 0, backwards: false }) }),
  },
  {
    promise: 'the logs are two',
    read: (real) => ({ regions: (_, range) => real.regions('journal', range) }),
  },
  { promise: 'blobs are stored', held: () => ({ putBlob: async () => {} }) },
  {
    promise: 'blobs are read',
    // oxlint-disable-next-line require-yield -- a blob without bytes yields none
    read: () => ({ async *blob() {} }),
  },
  { promise: 'the state is saved', held: () => ({ saveState: async () => {} }) },
  {
    promise: 'the texts of a state have names',
    read: (real) => ({
      state: async (names) => {
        const [text] = (await real.state(names)).values()
        return new Map(text === undefined ? [] : names.map((name) => [name, text]))
      },
    }),
  },
  { promise: 'the manifest is saved', held: () => ({ saveManifest: async () => {} }) },
  { promise: 'a released session is free', held: () => ({ release: async () => {} }) },
  {
    promise: 'a session that was not begun is given back as it was found',
    held: (real) => {
      let isReleased = false
      return {
        async release() {
          if (!isReleased) await real.begin({} as never)
          isReleased = true
          await real.release()
        },
      }
    },
  },
  {
    promise: 'the epoch of a hold is higher than that of every earlier one',
    held: () => ({ epoch: 1 }),
  },
  {
    promise: 'the holder that was taken over is known',
    held: () => ({ previous: undefined }),
  },
  {
    promise: 'contents are loaded',
    medium: (real) => ({
      load: (manifest, contents) => real.load(manifest, { ...contents, async *groups() {} }),
    }),
  },
  {
    promise: 'the blobs of contents are loaded',
    medium: (real) => ({
      load: (manifest, contents) => real.load(manifest, { ...contents, async *blobs() {} }),
    }),
  },
  {
    promise: 'a load that fails leaves nothing behind',
    medium: (real) => ({
      async load(manifest, contents) {
        await real.load(manifest, { async *groups() {}, async *blobs() {} })
        for await (const _ of contents.groups('journal'));
      },
    }),
  },
  {
    promise: 'a list has all sessions',
    medium: (real) => ({ list: async () => (await real.list({})).slice(1) }),
  },
  {
    promise: 'a summary has the number of records',
    read: (real) => ({
      get summary() {
        return { ...real.summary, records: 0 }
      },
    }),
  },
  {
    promise: 'a summary has the time of the last record',
    medium: (real) => ({
      list: async (options) =>
        (await real.list(options)).map((each) => ({ ...each, lastAt: each.createdAt })),
    }),
  },
  {
    promise: 'a summary has the holder',
    read: (real) => ({
      get summary() {
        return { ...real.summary, holder: undefined }
      },
    }),
  },
  {
    promise: 'the ends of the logs are known',
    read: (real) => ({
      get ends() {
        const { journal, audit } = real.ends
        return { journal: { ...journal, seq: 0 }, audit: { ...audit, seq: 0 } }
      },
    }),
  },
  { promise: 'damage is noted', medium: () => ({ noteDamage: async () => {} }) },
  { promise: 'a writer hears of damage that was noted', held: () => ({ damage: undefined }) },
  { promise: 'a wish for a session is noted', medium: () => ({ want: async () => {} }) },
  {
    promise: 'a wish is heard once',
    medium: (real) => {
      const heard = new Set<string>()
      return {
        async wanted(ids) {
          for (const id of await real.wanted(ids)) heard.add(id)
          return ids.filter((id) => heard.has(id))
        },
      }
    },
  },
]

function mutate({ medium: change, held, read }: Mutation, memory: Memory): Medium {
  const real = memoryMedium(memory)
  const base = { ...real, ...change?.(real, memory) }
  const hold = async (taking: Promise<HeldMedium>): Promise<HeldMedium> => {
    const session = await taking
    return changed(changed(session, held?.(session, memory)), read?.(session) as Partial<HeldMedium>)
  }
  return {
    ...base,
    create: (...given) => hold(base.create(...given)),
    open: (...given) => hold(base.open(...given)),
    async read(id) {
      const session = await base.read(id)
      return changed(session, read?.(session))
    },
  }
}

/** Cases that wait for something at the end of their patience: others show the same faults. */
const slowCases = /followed|waiting resume|without turns takes snapshots|only visitors write/

test('the medium that the mutations change passes every case', async () => {
  const memory: Memory = new Map()
  for (const { run } of storeConformance(() => {
    memory.clear()
    return () => mutate({ promise: 'none' }, memory)
  }))
    await expect(run()).resolves.toBeUndefined()
})

test.each(mutations)('the suite notices a medium that breaks a promise: $promise', async (mutation) => {
  let failures = 0
  const cases = storeConformance(() => {
    const memory: Memory = new Map()
    return () => mutate(mutation, memory)
  }).filter(({ title }) => !slowCases.test(title))
  for (const { run } of cases) {
    await run().catch(() => (failures += 1))
    if (failures > 0) break
  }
  expect(failures).toBeGreaterThan(0)
})

test('no medium gets to see a secret', async () => {
  const seen: string[] = []
  const memory: Memory = new Map()
  const see = (value: unknown): void => void seen.push(JSON.stringify(value) ?? '')
  const medium = mutate(
    {
      promise: 'none',
      held: (real) => ({
        append: (log, group) => {
          see(group.lines.toString())
          return real.append(log, group)
        },
        putBlob: (sha256, content) => {
          see(Buffer.from(content).toString())
          return real.putBlob(sha256, content)
        },
        saveState: (texts, isClosing) => {
          see([...texts])
          return real.saveState(texts, isClosing)
        },
        saveManifest: (manifest) => {
          see(manifest)
          return real.saveManifest(manifest)
        },
      }),
    },
    memory,
  )
  const secret = 'correct-horse-battery-staple'
  process.env.STINT_TEST_SECRET = secret
  const { createStore } = await import('../session/index.ts')
  const ref = { kind: 'env', name: 'STINT_TEST_SECRET' } as const
  const session = await createStore(medium).create({ secrets: [ref], purpose: secret })
  await session.append({ type: 'note', data: secret })
  await session.append({ type: 'large', data: secret.repeat(20_000) })
  await session.slot('s', { version: '1', initial: '' }).set(secret)
  await session.act({ action: 'tell', subject: secret }, () => secret)
  await session.annotate({ title: secret })
  await session.turn()
  await session.close()
  delete process.env.STINT_TEST_SECRET
  expect(seen.length).toBeGreaterThan(8)
  expect(seen.filter((text) => text.includes(secret))).toEqual([])
  expect(
    JSON.stringify([...memory.values()].map(({ holder, manifest }) => [holder, manifest])),
  ).not.toContain(secret)
})
