import { setImmediate } from 'node:timers/promises'
import { errno } from './crash-disk.ts'
import type { SessionLimits } from './crash-driver.ts'
import type { Simulation } from './crash-simulation.ts'

/** A short program that exercises one part of the store. */
export interface Workload {
  name: string
  sizes?: Partial<SessionLimits>
  run: (simulation: Simulation) => Promise<void>
}

export const id = 'one'
/** Filling, blobs and segments come into play after a few hundred bytes. */
const small: Partial<SessionLimits> = { growBytes: 700, inlineChars: 400 }

export const workloads: Workload[] = [
  {
    name: 'single appends',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      for (const n of ['1', '2', '3']) await session.append(n)
      await session.close()
    },
  },
  {
    name: 'appends in groups',
    sizes: { growBytes: 700 },
    async run(simulation) {
      const session = await simulation.create(id)
      // The second one spans four sectors, so whole sectors can be missing in its middle.
      await Promise.all([1, 2, 3].map((n) => session.append(`${n}`, { pad: n === 2 ? 1300 : 100 })))
      await Promise.all([session.append('4', { durable: false }), session.append('5', { pad: 300 })])
      await session.close()
    },
  },
  {
    name: 'acts and notes',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await session.act('a')
      await session.append('1')
      await session.note('b')
      await session.act('c', true)
      await session.append('2')
      await session.close()
    },
  },
  {
    name: 'requests that wait for nothing',
    sizes: { ...small, segmentBytes: 900 },
    async run(simulation) {
      const session = await simulation.create(id)
      // The audit log is opened for its first line.
      await session.note('0')
      const asked: Promise<void>[] = []
      for (const n of ['1', '2', '3']) {
        asked.push(session.append(n))
        await setImmediate()
      }
      asked.push(session.note('a'), session.append('4', { pad: 600 }), session.append('5'), session.note('b'))
      await setImmediate()
      asked.push(session.append('6'), session.close())
      await Promise.all(asked)
    },
  },
  {
    name: 'two sessions at once',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      const others = (async () => {
        const other = await simulation.create('two', true)
        for (const n of ['1', '2']) await other.turn(n)
        await other.close()
      })()
      for (const n of ['1', '2', '3', '4']) await session.append(n)
      await others
      await session.close()
    },
  },
  {
    name: 'slots and blobs',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await session.set('x', '1')
      await session.set('y', '2', 900)
      await session.append('3', { pad: 900 })
      await session.append('4', { pad: 900 })
      await session.set('x', '5')
      await session.close()
    },
  },
  {
    name: 'turns with snapshots',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id, true)
      await session.act('a')
      for (let n = 1; n <= 4; n++) {
        await session.set('x', `${n}a`)
        await session.turn(`${n}b`)
      }
      await session.append('5')
      await session.close()
    },
  },
  {
    name: 'segments that follow each other',
    sizes: { growBytes: 300, segmentBytes: 350 },
    async run(simulation) {
      const session = await simulation.create(id)
      for (const n of ['1', '2', '3', '4', '5', '6']) await session.append(n)
      for (const n of ['a', 'b', 'c']) await session.note(n)
      await session.close()
    },
  },
  {
    name: 'a sync that fails, a write that fails, and going on',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await session.append('1')
      await failing(simulation, 'sync', 'EIO', () => session.append('2'))
      await session.append('3')
      await failing(simulation, 'write', 'ENOSPC', () =>
        Promise.all([session.append('4', { pad: 600 }), session.append('5')]),
      )
      await failing(simulation, 'create', 'ENOSPC', () => session.append('6'))
      await session.note('a')
      await failing(simulation, 'sync', 'EIO', () => session.note('b'))
      await session.note('c')
      await session.append('7')
      await session.close()
    },
  },
  {
    name: 'directories that cannot be synced',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await failing(simulation, 'syncDirectory', 'EIO', () => session.append('1', { pad: 900 }))
      await session.append('2', { pad: 900 })
      await failing(simulation, 'syncDirectory', 'EIO', () => session.note('a'))
      await session.note('b')
      await failing(simulation, 'syncDirectory', 'EIO', () => session.turn('3'))
      await session.close()
    },
  },
  {
    name: 'short writes',
    sizes: small,
    async run(simulation) {
      const { disk } = simulation
      const { before } = disk
      disk.before = (call) => {
        before?.(call)
        return call.call === 'write' ? 150 : undefined
      }
      const session = await simulation.create(id)
      await Promise.all(['1', '2'].map((n) => session.append(n, { pad: 90 })))
      await session.act('a')
      disk.before = before
      await session.close()
    },
  },
  {
    name: 'visits between two writers',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await session.append('1')
      await session.close()
      await simulation.visit(id, 'journal', 's1')
      await simulation.visit(id, 'audit', 's2')
      const again = await simulation.resume(id)
      await again.turn('2')
      await again.session.snapshot()
      await again.close()
      await simulation.visit(id, 'journal', 's3')
    },
  },
  {
    name: 'visitors alone, which take snapshots',
    sizes: { ...small, overdueRecords: 2 },
    async run(simulation) {
      const session = await simulation.create(id)
      await session.act('a')
      await session.set('x', '1')
      await session.close()
      for (const n of ['s1', 's2', 's3']) await simulation.visit(id, 'journal', n)
      await simulation.visit(id, 'audit', 's4')
      for (const n of ['s5', 's6']) await simulation.visit(id, 'journal', n)
    },
  },
  {
    name: 'visits, and a disk that fails in one of them',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id, true)
      await session.close()
      await simulation.visit(id, 'journal', 's1')
      await failing(simulation, 'sync', 'EIO', () => simulation.visit(id, 'journal', 's2'), 1)
      await simulation.visit(id, 'audit', 's3')
      await simulation.visit(id, 'journal', 's4')
    },
  },
  {
    name: 'forks',
    sizes: { ...small, segmentBytes: 500 },
    async run(simulation) {
      const session = await simulation.create(id, true)
      await session.append('1', { pad: 900 })
      await session.note('a')
      await session.turn('2')
      await session.note('b')
      await session.session.snapshot()
      await session.append('3')
      const fork = await simulation.fork(session, 'two')
      await fork.append('4')
      const early = await simulation.fork(session, 'three', 2)
      await early.append('5')
      for (const each of [fork, session, early]) await each.close()
    },
  },
  {
    name: 'closed without audit lines, and audited after a resume',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await session.append('1')
      await session.close()
      const again = await simulation.resume(id)
      await again.note('a')
      await again.append('2')
      await again.close()
    },
  },
  {
    name: 'closed, resumed, closed',
    sizes: small,
    async run(simulation) {
      const session = await simulation.create(id)
      await session.append('1')
      await session.act('a')
      await session.close()
      const again = await simulation.resume(id)
      await again.append('2')
      await again.note('b')
      await again.close()
      const third = await simulation.resume(id)
      await third.close()
      const last = await simulation.resume(id)
      await last.append('3')
      await last.close()
    },
  },
]

export function workloadNamed(name: string): Workload {
  const workload = workloads.find((each) => each.name === name)
  if (workload === undefined) throw new Error(`there is no workload ${name}`)
  return workload
}

/** Uses a session that was resumed. */
export const afterResume: Workload = {
  name: 'resumed after a crash',
  async run(simulation) {
    const session = await simulation.resume(id)
    await session.append('later 1')
    await session.act('later a')
    await session.set('x', 'later 2')
    await session.turn('later 3')
    await session.close()
  },
}

/** Resumes a session and closes it at once, then resumes and uses it. */
export const closedAtOnce: Workload = {
  name: 'resumed after a crash and closed at once',
  async run(simulation) {
    const session = await simulation.resume(id)
    await session.close()
    const again = await simulation.resume(id)
    await again.append('later 1')
    await again.note('later a')
    await again.close()
  },
}

/** Runs an action without searching for crashes in it. */
export async function unwatched<T>({ disk }: Simulation, act: () => Promise<T>): Promise<T> {
  const { before } = disk
  disk.before = undefined
  const done = await act()
  disk.before = before
  return done
}

/** Makes one call of a kind fail during an action: the next, or the `nth`. */
async function failing(
  { disk }: Simulation,
  call: string,
  code: string,
  act: () => Promise<unknown>,
  nth = 1,
): Promise<void> {
  const { before } = disk
  let left = nth
  disk.before = (each) => {
    before?.(each)
    if (each.call === call && --left === 0) throw errno(code, each.path)
  }
  try {
    await act()
  } finally {
    disk.before = before
  }
}
