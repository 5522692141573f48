import { expect, test } from 'vitest'
import { CrashDisk, errno } from '../../../test/support/crash-disk.ts'
import { commitWays, offLoopOf } from '../../../test/support/later-turns.ts'
import { DiskQueue } from './disk-queue.ts'
import type { DiskSteps } from './disk-steps.ts'

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
