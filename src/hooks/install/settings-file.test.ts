import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRoot, World } from '../../../test/support/world.ts'
import { readSettingsFile, writeSettingsFile } from './settings-file.ts'

/** A group other than that of new files, if this user may assign one; root may assign any. */
const ownGroup = process.getegid?.() ?? 0
const group = isRoot ? 54_321 : (process.getgroups?.().find((gid) => gid !== ownGroup) ?? ownGroup)

test('a replaced file keeps its group and its mode', async () => {
  await using world = new World()
  const path = join(world.tmp, 'settings.json')
  writeFileSync(path, '{}')
  chownSync(path, process.geteuid?.() ?? 0, group)
  chmodSync(path, 0o664)
  writeSettingsFile(readSettingsFile(path), Buffer.from('{"a": 1}'), 0o600)
  const { gid, mode } = statSync(path)
  expect([gid, mode & 0o777, readFileSync(path, 'utf8')]).toEqual([group, 0o664, '{"a": 1}'])
})

test('a new file gets the given mode, whatever the umask', async () => {
  await using world = new World()
  const path = join(world.tmp, 'new', 'settings.json')
  writeSettingsFile(readSettingsFile(path), Buffer.from('{}'), 0o644)
  expect(statSync(path).mode & 0o777).toBe(0o644)
})
