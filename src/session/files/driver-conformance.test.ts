import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { storeCases } from '../../../test/support/store-cases/index.ts'
import type { StorePlace } from '../../testing/conformance-case.ts'
import { filesystemStore } from './driver.ts'

let world: World
let places = 0
beforeAll(() => {
  world = new World()
})
afterAll(() => world[Symbol.asyncDispose]())

function makePlace(): StorePlace {
  const home = join(world.tmp, `home-${(places += 1)}`)
  const change = (id: string, key: string, value: unknown): void => {
    const path = join(home, 'sessions', id, 'manifest.json')
    writeFileSync(
      path,
      JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), [key]: value }),
    )
  }
  return {
    open: (clock) => filesystemStore({ home, clock }),
    disown: (id) => change(id, 'store', 'postgres'),
    addToManifest: change,
  }
}

const cases = storeCases(makePlace).map(({ title, run }) => [title, run] as const)

test.each(cases)('%s', async (_, run) => {
  await expect(run()).resolves.toBeUndefined()
})
