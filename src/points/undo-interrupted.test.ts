import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { InterruptedUndos } from '../../test/support/interrupted-undos.ts'

test('an undo that is killed, or whose calls fail, leaves no file torn, and is finished or taken back', async () => {
  await using world = new InterruptedUndos()
  await world.prepare()
  const { length: calls } = await world.calls()
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
  ['EIO', 'open home/points/KEY/undo.json', 0, 'DISK_FAILED'],
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

test('an undo syncs every directory in which it has made or removed a name before it counts as done', async () => {
  await using world = new InterruptedUndos()
  await world.prepare()
  const all = await world.calls()
  const calls = all.slice(
    0,
    all.findLastIndex((call) => /^remove .*\/undo\.json$/.test(call)),
  )
  const lastChanges = new Map<string, number>()
  for (const [index, call] of calls.entries()) {
    const [, kind, path = ''] = /^(mkdir|rename|remove) (repo\/(?!\.stint-undo-|\.git\/).*)$/.exec(call) ?? []
    if (kind !== undefined) lastChanges.set(dirname(path), index)
    if (kind === 'remove') lastChanges.delete(path)
  }
  expect([...lastChanges.keys()].toSorted()).toEqual(['repo', 'repo/e', 'repo/gone', 'repo/gone/deep'])
  for (const [directory, index] of lastChanges)
    expect.soft(calls.slice(index), directory).toContain(`sync ${directory}`)
})
