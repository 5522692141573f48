import { expect, test } from 'vitest'
import { InterruptedUndos } from '../../test/support/interrupted-undos.ts'

test('an undo that is killed, or whose calls fail, leaves no file torn, and is finished or taken back', async () => {
  await using world = new InterruptedUndos()
  await world.prepare()
  const calls = await world.countCalls()
  expect(calls).toBeGreaterThan(100)
  const faults: string[] = []
  for (let at = 1; at <= calls; at += 37)
    faults.push(
      ...(await world.fault(at, at % 2 === 0 ? 'kill' : 'error', at % 4 < 2 ? '--continue' : '--abort')),
    )
  expect(faults).toEqual([])
})

test.each([
  ['EIO', 'list home', 0, 'DISK_FAILED'],
  ['EMFILE', 'list home', 1, 'TOO_MANY_FILES'],
  ['EROFS', 'mkdir repo/gone', 1, 'READ_ONLY'],
  ['EIO', 'mkdir repo/gone', 2, 'DISK_FAILED'],
])(
  '%s at `%s` is a coded error that says what to do, and nothing is changed',
  async (errno, call, error, code) => {
    await using world = new InterruptedUndos()
    await world.prepare()
    const { stderr, isUnchanged } = await world.failCall(call, error)
    expect(stderr).toMatch(new RegExp(`^stint undo: cannot .*${errno} \\(${code}\\)\n  (Make|Check|Raise) `))
    expect(isUnchanged).toBe(true)
  },
)
