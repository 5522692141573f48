import { expect, test } from 'vitest'
import { CrashDisk, errno } from '../../../test/support/crash-disk.ts'
import { commitWays, offLoopOf } from '../../../test/support/later-turns.ts'
import { systemClock } from '../process/clock.ts'
import { DiskQueue, type OffLoop } from './disk-queue.ts'
import { type DiskSteps, type SlowCall, writeSteps } from './disk-steps.ts'

const queueFor = (way: (typeof commitWays)[number]): DiskQueue => {
  const disk = new CrashDisk()
  return new DiskQueue(disk, offLoopOf(way, disk))
}

/** An operation that says when it begins and ends. */
function* operation(name: string, said: string[]): DiskSteps<string> {
  said.push(`${name} begins`)
  yield { call: 'syncDirectory', path: '/' }
  yield
  said.push(`${name} ends`)
  return name
}

test.each(commitWays)('operations run one at a time and in order, %s', async (way) => {
  const queue = queueFor(way)
  const said: string[] = []
  const results = await Promise.all(['a', 'b', 'c'].map((name) => queue.run(operation(name, said))))
  expect(results).toEqual(['a', 'b', 'c'])
  expect(said).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]))
})

test.each(commitWays)(
  'an operation gets the errors of its calls, and the next one begins, %s',
  async (way) => {
    const queue = queueFor(way)
    function* failing(): DiskSteps<string> {
      try {
        yield { call: 'syncDirectory', path: '/missing' }
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? ''
      }
      return 'no error'
    }
    function* thrown(): DiskSteps {
      yield
      throw errno('EIO', '/')
    }
    const [caught, rejected, after] = [
      queue.run(failing()),
      queue.run(thrown()),
      queue.run(operation('a', [])),
    ]
    expect(await caught).toBe('ENOENT')
    await expect(rejected).rejects.toMatchObject({ code: 'EIO' })
    expect(await after).toBe('a')
  },
)

test('on the event loop, an operation is done when `start` returns', () => {
  const said: string[] = []
  queueFor('on the event loop').start(operation('a', said))
  expect(said).toEqual(['a begins', 'a ends'])
})

test('callers that were answered can act before the next operation begins', async () => {
  const queue = queueFor('in the thread pool')
  const said: string[] = []
  const first = queue.run(operation('a', said)).then(() => said.push('answered'))
  await Promise.all([first, queue.run(operation('b', said))])
  expect(said).toEqual(['a begins', 'a ends', 'answered', 'b begins', 'b ends'])
})

/** A stand-in for the thread pool whose calls take effect when the test says so. */
function stuckPool(): { offLoop: OffLoop; steps: SlowCall[]; answers: (() => void)[] } {
  const [steps, answers]: [SlowCall[], (() => void)[]] = [[], []]
  const offLoop: OffLoop = {
    isNeeded: true,
    note: () => {},
    call(step, done) {
      steps.push(step)
      answers.push(() => done(undefined))
    },
  }
  return { offLoop, steps, answers }
}

test('at the end of the process all operations are done at once; a late answer of the pool does nothing', () => {
  const disk = new CrashDisk()
  const keptOpen: number[] = []
  const { offLoop, steps, answers } = stuckPool()
  const queue = new DiskQueue(
    Object.assign(disk, { keepOpen: (file: number) => keptOpen.push(file) }),
    offLoop,
  )
  const said: string[] = []
  function* writing(): DiskSteps {
    const file = disk.create('/file')
    yield* writeSteps(file, Buffer.from('written once'), 0)
    yield { call: 'sync', file }
    said.push('written')
  }
  queue.start(writing())
  for (const name of ['a', 'b']) queue.start(operation(name, said))
  expect([steps.length, said]).toEqual([1, []])
  queue.endNow(operation('last', said))
  const expected = ['written', ...['a', 'b', 'last'].flatMap((name) => [`${name} begins`, `${name} ends`])]
  expect(said).toEqual(expected)
  expect(keptOpen).toEqual([steps[0]?.call === 'write' ? steps[0].file : undefined])
  for (const answer of answers) answer()
  queue.endNow(operation('again', []))
  expect([said, steps.length]).toEqual([expected, 1])
})

test('an operation that was to go on in a later turn is done at the end of the process, and only once', async () => {
  const disk = new CrashDisk()
  const { offLoop } = stuckPool()
  const queue = new DiskQueue(disk, { ...offLoop, isNeeded: false })
  const said: string[] = []
  function* long(): DiskSteps {
    for (const end = systemClock.mono() + 20; systemClock.mono() < end;);
    yield
    said.push('long ends')
  }
  queue.start(long())
  queue.start(operation('a', said))
  queue.endNow(operation('last', said))
  const expected = ['long ends', ...['a', 'last'].flatMap((name) => [`${name} begins`, `${name} ends`])]
  expect(said).toEqual(expected)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(said).toEqual(expected)
})
