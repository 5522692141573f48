import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { faultedCommands, stockedWorld } from './support/failed-call-commands.ts'
import {
  failEachCall,
  type FaultedCommand,
  type FaultWorld,
  type SearchExtent,
} from './support/failed-calls.ts'
import { readIfThere } from './support/read-if-there.ts'
import { projectRoot } from './support/world.ts'

let world: FaultWorld
beforeAll(async () => {
  world = await stockedWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

test.each<[title: string, extent: SearchExtent]>([
  ['lock acquire', { every: 2 }],
  ['lock release', { calls: /locks/, every: 2 }],
  ['run', { every: 6 }],
  ['sessions append', { every: 4 }],
  ['sessions repair', { every: 12 }],
  ['temp check', { calls: /\.owner$/ }],
  ['doctor', { calls: /^close .*trial.file$/ }],
  ['hook status', { calls: /git-shim/ }],
  ['hook uninstall', { calls: /settings\.json/ }],
  ['temp why', { calls: /temp.stint-/, every: 2 }],
])('%s: each failed file call ends in a documented error or a true answer', async (title, extent) => {
  const command = faultedCommands.find((each) => each.title === title) as FaultedCommand
  const { failed, faults } = await failEachCall(world, command, extent)
  expect(failed).toBeGreaterThan(0)
  expect(faults).toEqual([])
})

test.each([
  ['swallow', 'a false answer'],
  ['throw', 'a stack trace'],
])('a program that is careless about errors (%s) is found by its failed calls', async (how, fault) => {
  const careless: FaultedCommand = {
    title: 'careless',
    program: join(projectRoot, 'test/fixtures/careless-append.mjs'),
    args: [how],
    faults: ({ answer, place }) =>
      answer.code === undefined && readIfThere(join(place, 'home/careless')) !== 'done\n'
        ? ['a false answer']
        : [],
  }
  const { failed, faults } = await failEachCall(world, careless, { allErrors: true })
  expect(failed).toBeGreaterThan(3)
  expect(faults.join('\n')).toContain(fault)
})
