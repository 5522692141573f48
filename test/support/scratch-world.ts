import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { StintError } from '../../src/base/errors/stint-error.ts'
import { openRoot } from '../../src/scratch/root.ts'
import { createScratch, type Scratch } from '../../src/scratch/scratch.ts'
import { World } from './world.ts'

/** A world with one scratch, new for each test. */
export interface ScratchWorld {
  readonly world: World
  readonly scratch: Scratch
  /** Makes a file outside the scratch; returns its path. */
  outside(name: string, content?: string): string
}

export function useScratchWorld(): ScratchWorld {
  let world: World
  let scratch: Scratch
  beforeEach(() => {
    world = new World()
    scratch = createScratch({ root: openRoot({ STINT_TMP_ROOT: world.tmp }) })
  })
  afterEach(async () => {
    scratch.remove()
    await world[Symbol.asyncDispose]()
  })
  return {
    get world() {
      return world
    },
    get scratch() {
      return scratch
    },
    outside(name, content = 'x') {
      const path = join(world.tmp, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
      return path
    },
  }
}

/** The code of the StintError that `act` throws, or `none`. Rethrows any other error. */
export function codeOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof StintError) return error.code
    throw error
  }
  return 'none'
}
