import { join } from 'node:path'
import { projectRoot, type Running, type World } from './world.ts'

export const startFixture = (world: World, name: string, args: readonly string[]): Running =>
  world.start(process.execPath, [join(projectRoot, 'test/fixtures', name), ...args])

/** Starts a command with the handler `how` of test/fixtures/handlers.mjs. */
export const startHandler = (world: World, how: string, ...args: string[]): Running =>
  startFixture(world, 'handlers.mjs', [how, ...args])
