import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { storeCases } from '../../../test/support/store-cases/index.ts'
import type { OpenMedium } from '../../testing/conformance-case.ts'
import { FilesMedium } from './medium.ts'

let world: World
let places = 0
beforeAll(() => {
  world = new World()
})
afterAll(() => world[Symbol.asyncDispose]())

function makePlace(): OpenMedium {
  const home = join(world.tmp, `home-${(places += 1)}`)
  return () => new FilesMedium({ home })
}

const cases = storeCases(makePlace).map(({ title, run }) => [title, run] as const)

test.each(cases)('%s', async (_, run) => {
  await expect(run()).resolves.toBeUndefined()
})
