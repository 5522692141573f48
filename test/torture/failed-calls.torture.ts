import { afterAll, beforeAll, expect, test } from 'vitest'
import { stintCommands } from '../../src/cli/stint.ts'
import { isGroup } from '../../src/command/invocation.ts'
import { allCommands } from '../support/all-commands.ts'
import { faultedCommands, stockedWorld } from '../support/failed-call-commands.ts'
import { failEachCall, type FaultWorld } from '../support/failed-calls.ts'

/** Each call fails once, which takes 20 minutes of CPU time; with FAULTS=all, with each of its errors. */
const allErrors = process.env.FAULTS === 'all'

let world: FaultWorld
let [calls, failed] = [0, 0]
beforeAll(async () => {
  world = await stockedWorld()
})
afterAll(async () => {
  console.log(`${faultedCommands.length} commands, ${calls} calls, failed ${failed} times`)
  await world[Symbol.asyncDispose]()
})

/** These use a server, a home of their own or none. */
const untried = ['postgres migrate', 'postgres purge', 'demo', 'completion']

test('every command that touches the home is tried', async () => {
  const commands = (await allCommands(stintCommands, 'stint'))
    .filter(([, command]) => !isGroup(command))
    .map(([called]) => called.replace('stint ', ''))
  const isTried = (called: string): boolean =>
    faultedCommands.some(
      ({ title, args }) => title === called || `${args.join(' ')} `.startsWith(`${called} `),
    )
  expect(commands.filter((called) => !isTried(called)).toSorted()).toEqual(untried.toSorted())
})

for (const command of faultedCommands)
  test(`${command.title}: each failed file call ends in a documented error or a true answer`, async () => {
    const search = await failEachCall(world, command, { allErrors })
    calls += search.calls
    failed += search.failed
    console.log(
      [`${command.title}: ${search.calls} calls, failed ${search.failed} times`, ...search.faults].join('\n'),
    )
    expect(search.faults).toEqual([])
  })
