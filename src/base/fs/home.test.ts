import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { ensureHome, ensureHomeDirectory, homeError, withHomeErrors, stintHome } from './home.ts'
import { StintError } from '../errors/stint-error.ts'
import { lastVisibleOn, nonDirectoryOn, pathAncestors } from './paths.ts'

test('the error names a file that stands in place of the home, in it, or above it', async () => {
  await using world = new World()
  const file = join(world.tmp, 'file')
  writeFileSync(file, '')
  const listing = (home: string, path: string) => () =>
    withHomeErrors(home, 'list it', () => readdirSync(path))
  const unsafe = expect.objectContaining({ code: 'HOME_UNSAFE', message: `${file} is not a directory` })
  expect(listing(file, join(file, 'sessions'))).toThrow(unsafe)
  expect(listing(world.tmp, join(file, 'journal'))).toThrow(unsafe)
  expect(listing(join(file, 'home'), join(file, 'home/sessions'))).toThrow(
    expect.objectContaining({
      code: 'HOME_MISSING',
      message: `there is no home in ${file}, which is not a directory`,
    }),
  )
})

test('the error names the directory that lacks a permission, whichever call failed', async () => {
  await using world = new World()
  const locks = join(world.tmp, 'locks')
  const record = join(locks, 'record')
  mkdirSync(locks)
  writeFileSync(record, '')
  const denied = (facts: object): unknown =>
    homeError(Object.assign(new Error('no'), { code: 'EACCES', ...facts }), world.tmp, 'lock it')
  const told = (path: string) => ({
    code: 'PERMISSION_DENIED',
    message: `cannot lock it: no permission for ${path} (EACCES)`,
    hint: `chmod u+rwX ${path}, or set STINT_HOME to another directory.`,
  })
  expect(denied({ path: record, syscall: 'open' })).toMatchObject(told(record))
  expect(denied({ path: record, syscall: 'unlink' })).toMatchObject(told(locks))
  expect(denied({ path: 'text', dest: record, syscall: 'symlink' })).toMatchObject(told(locks))
  expect(denied({ path: join(locks, 'new'), syscall: 'mkdir' })).toMatchObject(told(locks))
  expect(denied({ path: '/elsewhere' })).toMatchObject(told(world.tmp))
  expect(denied({})).toMatchObject(told(world.tmp))
})

test('a coded error, and one that has nothing to do with the home, pass unchanged', () => {
  const coded = new StintError('NOT_FOUND', 'no such session')
  expect(homeError(coded, '/home', 'do it')).toBe(coded)
  const missing = Object.assign(new Error('gone'), { code: 'ENOENT' })
  expect(homeError(missing, '/home', 'do it')).toBe(missing)
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
  expect(homeError(full, '/home', 'do it')).toMatchObject({
    code: 'DISK_FULL',
    message: 'cannot do it: ENOSPC',
  })
})

test('a directory in which nothing can be created is not reported as missing', () => {
  const parent = '/proc/self'
  expect(lstatSync(parent)).toBeDefined()
  expect(() => ensureHomeDirectory(`${parent}/home`)).toThrow(
    expect.objectContaining({
      code: expect.stringMatching(/^(HOME_MISSING|PERMISSION_DENIED)$/) as string,
      message: expect.not.stringContaining('there is no directory') as string,
    }),
  )
})

test('a relative STINT_HOME is refused with a hint', () => {
  expect(() => stintHome({ STINT_HOME: 'some/home' })).toThrow(
    expect.objectContaining({ code: 'ARG_ERROR', hint: 'Set STINT_HOME to an absolute path.' }),
  )
})

test('ancestors are examined from the root down, as far as they are visible', async () => {
  await using world = new World()
  expect(pathAncestors('/a/b')).toEqual(['/', '/a', '/a/b'])
  const file = join(world.tmp, 'file')
  writeFileSync(file, '')
  expect(nonDirectoryOn(join(file, 'a/b'))).toBe(file)
  expect(nonDirectoryOn(join(world.tmp, 'nothing/here'))).toBeUndefined()
  expect(lastVisibleOn(join(world.tmp, 'nothing/here'))).toBe(world.tmp)
  expect(lastVisibleOn(file)).toBe(file)
})

test('a home gets the mark of its format with the first directory, and is then used by every version with that format', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const env = { STINT_HOME: home }
  expect(stintHome(env)).toBe(home)
  ensureHome(home)
  expect(readdirSync(home)).toEqual(['format-1'])
  expect(lstatSync(join(home, 'format-1')).mode & 0o777).toBe(0o600)
  mkdirSync(join(home, 'locks'))
  expect(stintHome(env)).toBe(home)
  ensureHome(home)
})

test.each([['locks'], ['sessions'], ['format-7'], ['format-7', 'sessions']])(
  'a home with %j and without the mark of the present format is refused, and nothing is changed',
  async (...names) => {
    await using world = new World()
    const home = join(world.tmp, 'home')
    for (const name of names) mkdirSync(join(home, name), { recursive: true, mode: 0o700 })
    const refused = expect.objectContaining({
      code: 'HOME_FORMAT',
      hint: `Move it away when nothing uses it any more: mv ${home} ${home}-old`,
    })
    expect(() => stintHome({ STINT_HOME: home })).toThrow(refused)
    expect(() => ensureHome(home)).toThrow(refused)
    expect(readdirSync(home).sort()).toEqual([...names].sort())
  },
)

test('a directory of the user with other files, and an empty one, can become a home', async () => {
  await using world = new World()
  writeFileSync(join(world.tmp, 'notes.txt'), '')
  ensureHome(world.tmp)
  expect(readdirSync(world.tmp).sort()).toEqual(['format-1', 'notes.txt'])
})

test('a home that is removed while a process uses it gets its mark again', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  ensureHome(home)
  expect(stintHome({ STINT_HOME: home })).toBe(home)
  rmSync(home, { recursive: true })
  ensureHome(home)
  expect(readdirSync(home)).toEqual(['format-1'])
})
