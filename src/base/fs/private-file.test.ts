import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRoot, projectRoot, World } from '../../../test/support/world.ts'
import { appendPrivateFile } from './private-file.ts'

const module = JSON.stringify(join(projectRoot, 'dist/base/fs/private-file.js'))

test.each(['000', '077'])(
  'under umask %s the first file and directory of a process are accessible to their owner only',
  async (umask) => {
    await using world = new World()
    const made = {
      file: `createPrivateFile('file', 'x')`,
      log: `appendPrivateFile('log', 'x'); appendPrivateFile('log', 'y')`,
      directory: `makePrivateDirectory('directory')`,
      'deep/er': `makePrivateDirectories('deep/er')`,
    }
    // As a user without root's privileges, which override permissions.
    const as = isRoot ? { uid: 65534, gid: 65534 } : {}
    execFileSync('chmod', ['777', world.tmp])
    for (const code of Object.values(made)) {
      const program = `
        import { appendPrivateFile, createPrivateFile, makePrivateDirectories, makePrivateDirectory } from ${module}
        process.umask('${umask}')
        ${code}`
      const node = ['--input-type=module', '-e', program]
      expect(await world.start(process.execPath, node, { cwd: world.tmp, ...as }).finished).toMatchObject({
        code: 0,
        stderr: '',
      })
    }
    const modes = Object.keys(made).map((name) => statSync(join(world.tmp, name)).mode & 0o777)
    expect(modes).toEqual([0o600, 0o600, 0o700, 0o700])
  },
)

test('an append does not follow a link and does not block on a FIFO', async () => {
  await using world = new World()
  const [victim, link, fifo] = ['victim', 'link', 'fifo'].map((name) => join(world.tmp, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(victim, 'precious')
  symlinkSync(victim, link)
  execFileSync('mkfifo', [fifo])
  expect(() => appendPrivateFile(link, 'x')).toThrow('ELOOP')
  expect(() => appendPrivateFile(fifo, 'x')).toThrow('ENXIO')
  expect(readFileSync(victim, 'utf8')).toBe('precious')
})
