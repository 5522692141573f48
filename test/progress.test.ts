import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildFailCall } from './support/build-c.ts'
import { plant } from './support/plant.ts'
import { SessionWorld } from './support/session-world.ts'
import { dead } from './support/temp-commands.ts'
import { Terminal } from './support/terminal.ts'

/** A world whose home and temp root lie on a slow disk, with work that takes more than a minute there. */
async function slowWorld(): Promise<SessionWorld> {
  const world = new SessionWorld()
  const scratch = plant(world, dead)
  for (let i = 0; i < 3000; i++) writeFileSync(join(scratch, String(i)), 'x')
  // A run that starts now does not sweep.
  mkdirSync(join(world.root, 'trash'), { mode: 0o700 })
  writeFileSync(join(world.root, 'trash/.swept'), '')
  for (let i = 0; i < 25; i++) await world.make(`small-${i}`, 1)
  await using large = await world.store.create({ id: 'large' })
  const text = 'x'.repeat(10_000)
  await Promise.all(Array.from({ length: 200 }, () => large.append({ type: 'note', data: { text } })))
  await large.close()
  await world.stint(['hook', 'install', 'claude'], { env: { HOME: world.tmp } })
  Object.assign(world.env, {
    UV_USE_IO_URING: '0',
    FAULT_DIRECTORIES: [world.home, world.root].join(':'),
    FAULT_PROGRAM: realpathSync(process.execPath),
    FAULT_FILES: '',
    FAULT_AT: '0',
    FAULT_ERROR: '0',
    FAULT_COUNT: join(world.tmp, 'count'),
    FAULT_LOG: '/dev/null',
    LIBRARY: buildFailCall(world.tmp),
  })
  writeFileSync(join(world.tmp, 'count'), Buffer.alloc(8))
  return world
}

const slowly = 'LD_PRELOAD=$LIBRARY FAULT_DELAY_MS'

const commands: [line: string, label: string][] = [
  [`${slowly}=20 stint temp list`, 'measuring'],
  [`${slowly}=20 stint temp stats`, 'measuring'],
  [`${slowly}=20 stint temp check`, 'measuring'],
  [`${slowly}=20 stint temp watch`, 'measuring'],
  [`${slowly}=20 stint sweep --dry-run`, 'sweeping'],
  [`${slowly}=40 stint sessions list`, 'reading'],
  [`${slowly}=20 stint sessions list --sort size`, 'reading'],
  [`${slowly}=40 stint sessions verify --all`, 'verifying'],
  [`${slowly}=40 stint sessions search nothing`, 'searching'],
  [`${slowly}=100 stint doctor`, 'examining'],
]

test('whatever takes longer than a second shows that it works, and ends at Ctrl-C', async () => {
  await using world = await slowWorld()
  const interrupt = async ([line, label]: (typeof commands)[number], index: number): Promise<void> => {
    await using terminal = await Terminal.open(world, ['sh', '-i'], `terminal-${index}`)
    terminal.enter(`clear; ${line}`)
    await terminal.shows(new RegExp(`^${label} .*\\d+s$`, 'm'))
    terminal.press('C-c')
    await terminal.shows(/^\[130\] ready>$/m)
    expect(terminal.screen()).not.toMatch(new RegExp(`^${label}`, 'm'))
  }
  await Promise.all(commands.map(interrupt))
  expect(readdirSync(world.sessions).filter((name) => name.startsWith('.new'))).toEqual([])
})
