import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plant } from '../../../test/support/plant.ts'
import { dead } from '../../../test/support/temp-commands.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { stintBin, until, World } from '../../../test/support/world.ts'

test('watch --json prints one object a line at each look, and ends after Ctrl-C with 130', async () => {
  await using world = new World()
  const path = plant(world, dead)
  const watch = world.startStint(['temp', 'watch', '--interval', '50ms', '--json'])
  const looks = () =>
    watch
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { at: number; now: { files: number } })
  await until('it has looked twice', () => looks().length > 1)
  expect(looks()[0]).toMatchObject({
    now: { files: 2, directories: 2, scratches: 1, live: 0, orphans: 1 },
    largest: [{ path }],
    history: null,
  })
  writeFileSync(join(path, 'more'), 'x')
  await until('it has seen the new file', () => looks().at(-1)?.now.files === 3)
  watch.child.kill('SIGINT')
  expect(await watch.finished).toMatchObject({ code: 130, stderr: '' })
})

test('watch in a pipe prints a block at each look, and ends when its output is closed', async () => {
  await using world = new World()
  const pipeline = '"$0" "$1" temp watch --interval 50ms | grep -m 2 "^now: "'
  const { stdout, stderr } = await world.start('sh', ['-c', pipeline, process.execPath, stintBin]).finished
  expect([stdout, stderr]).toEqual(['now: 0 B in 0 files; nothing\n'.repeat(2), ''])
})

test('watch redraws a terminal, which is as before after Ctrl-C', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.enter('stint temp watch --interval 50ms')
  await terminal.shows(/^now: 0 B in 0 files; nothing$/m)
  expect(terminal.isAlternate()).toBe(true)
  plant(world, dead)
  await terminal.shows(/^now: .* in 2 files; 1 scratch\n +0 live, 1 orphan$/m)
  terminal.press('C-c')
  await terminal.shows(/\[130\] ready>$/m)
  expect([terminal.isAlternate(), terminal.screen().includes('now:')]).toEqual([false, false])
})

test('an interval below 50 ms is refused', async () => {
  await using world = new World()
  expect((await world.stint(['temp', 'watch', '--interval', '1ms'])).code).toBe(2)
})
