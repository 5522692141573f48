import { expect, test } from 'vitest'
import { readFile } from '../../src/base/fs/disk.ts'
import { CrashDisk, errno } from './crash-disk.ts'
import { allLost, type Bounds, crashStates, fingerprint } from './crash-states.ts'

const bounds: Bounds = { allSubsetsOf: 6, tearEvery: 1, combinations: 1000 }

/** Writes to a file, which it creates if needed. */
function put(disk: CrashDisk, path: string, text: string, { at = 0, sync = false } = {}): void {
  const file = disk.list('/').includes(path.slice(1)) ? disk.open(path) : disk.create(path)
  for (let done = 0; done < text.length;) done += disk.write(file, Buffer.from(text), done, at + done)
  if (sync) disk.sync(file)
  disk.close(file)
}

/** The contents that a crash may leave of a file; `undefined` if the file may be gone. */
function remains(disk: CrashDisk, path: string): Set<string | undefined> {
  return new Set([...crashStates(disk, bounds)].map((state) => readFile(state, path)?.toString('latin1')))
}

function durable(text: string): CrashDisk {
  const disk = new CrashDisk()
  put(disk, '/a', text, { sync: true })
  disk.syncDirectory('/')
  return disk
}

test('a crash leaves a file that was synced, with its directory, as it is', () => {
  expect(remains(durable('text'), '/a')).toEqual(new Set(['text']))
})

test('a synced file whose directory was not synced is gone or whole', () => {
  const disk = new CrashDisk()
  put(disk, '/a', 'text', { sync: true })
  expect(remains(disk, '/a')).toEqual(new Set([undefined, 'text']))
})

test('a write is lost, torn at any byte from either end, or zeros, and never anything else', () => {
  const disk = durable('')
  put(disk, '/a', 'abc')
  expect(remains(disk, '/a')).toEqual(
    new Set(['', 'abc', '\0\0\0', 'a', 'ab', 'a\0\0', 'ab\0', '\0bc', '\0\0c']),
  )
})

test('an overwrite leaves the old bytes where the new ones are missing', () => {
  const disk = durable('xyz')
  put(disk, '/a', 'abc')
  expect(remains(disk, '/a')).toEqual(new Set(['xyz', 'abc', 'ayz', 'abz', 'xbc', 'xyc']))
})

test('sectors reach the disk in any order', () => {
  const disk = durable('')
  put(disk, '/a', ['a', 'b', 'c'].map((each) => each.repeat(512)).join(''))
  const kinds = [...remains(disk, '/a')].map((text) =>
    [0, 512, 1024]
      .map((at) => text?.slice(at, at + 512))
      .map((part) => (/^([a-c\0])\1{511}$/.test(part ?? '') ? part?.[0] : '?')),
  )
  const whole = new Set(kinds.filter((kind) => !kind.includes('?')).map((kind) => kind.join('')))
  for (const kind of ['abc', 'ab\0', 'a\0c', '\0bc', 'a\0\0', '\0b\0', '\0\0c', '\0\0\0'])
    expect(whole).toContain(kind)
})

test('writes since the last sync are kept or lost independently, until they are synced', () => {
  const disk = durable('....')
  put(disk, '/a', 'A')
  put(disk, '/a', 'B', { at: 3 })
  expect(remains(disk, '/a')).toEqual(new Set(['....', 'A...', '...B', 'A..B']))
  put(disk, '/a', '', { sync: true })
  expect(remains(disk, '/a')).toEqual(new Set(['A..B']))
})

test('a truncation may be undone until it is synced', () => {
  const disk = durable('abcd')
  const file = disk.open('/a')
  disk.truncate(file, 2)
  expect(remains(disk, '/a')).toEqual(new Set(['abcd', 'ab']))
  disk.sync(file)
  expect(remains(disk, '/a')).toEqual(new Set(['ab']))
})

test('a rename survives or not, and never in part', () => {
  const disk = durable('old')
  put(disk, '/b', 'new', { sync: true })
  disk.rename('/b', '/a')
  expect(remains(disk, '/a')).toEqual(new Set(['old', 'new']))
  disk.syncDirectory('/')
  expect(remains(disk, '/a')).toEqual(new Set(['new']))
  expect(remains(disk, '/b')).toEqual(new Set([undefined]))
})

test('a rename of an unsynced file may leave any part of it under the new name', () => {
  const disk = durable('old')
  put(disk, '/b', 'xy')
  disk.rename('/b', '/a')
  disk.syncDirectory('/')
  expect(remains(disk, '/a')).toEqual(new Set(['', 'xy', '\0\0', 'x', 'x\0', '\0y']))
})

test('an unlink may be undone, and the names of one file survive independently', () => {
  const disk = durable('a')
  disk.link('/a', '/b')
  disk.unlink('/a')
  const both = [...crashStates(disk, bounds)].map((state) => state.list('/').toSorted().join(''))
  expect(new Set(both)).toEqual(new Set(['', 'a', 'b', 'ab']))
})

test('the contents of a directory are lost with its name', () => {
  const disk = new CrashDisk()
  disk.makeDirectory('/d')
  const file = disk.create('/d/a')
  disk.sync(file)
  disk.syncDirectory('/d')
  const names = [...crashStates(disk, bounds)].map((state) => state.list('/').join(''))
  expect(new Set(names)).toEqual(new Set(['', 'd']))
  disk.syncDirectory('/')
  expect(readFile(allLost(disk), '/d/a')).toEqual(Buffer.alloc(0))
})

test('after a failed sync the contents are uncertain, and another sync does not help', () => {
  const disk = durable('..')
  const file = disk.open('/a')
  disk.write(file, Buffer.from('A'), 0, 0)
  disk.before = ({ call, path }) => {
    if (call === 'sync') throw errno('EIO', path)
  }
  expect(() => disk.sync(file)).toThrow('EIO')
  disk.before = undefined
  disk.sync(file)
  expect(remains(disk, '/a')).toEqual(new Set(['..', 'A.']))
  disk.truncate(file, 0)
  disk.sync(file)
  expect(remains(disk, '/a')).toEqual(new Set(['']))
})

test('if there are too many combinations, those that lose everything and those that lose nothing are tried', () => {
  const disk = new CrashDisk()
  for (let n = 0; n < 12; n++) put(disk, `/${n}`, 'text')
  const counts = [...crashStates(disk, { ...bounds, combinations: 50 })].map(
    (state) => state.list('/').length,
  )
  expect(counts.length).toBeLessThan(400)
  for (const count of [0, 1, 11, 12]) expect(counts).toContain(count)
})

test('writing to one state changes no other', () => {
  const disk = durable('abc')
  const [one, other] = [allLost(disk), allLost(disk)]
  put(one, '/a', 'X', { sync: true })
  expect(fingerprint(other)).toBe(fingerprint(disk))
  expect(fingerprint(one)).not.toBe(fingerprint(disk))
})
