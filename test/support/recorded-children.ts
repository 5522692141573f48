import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from './world.ts'

/** The pids of children in the records of this world's runs. */
export const recordedChildren = (world: World): number[] =>
  world.leftovers().flatMap((name) => {
    const path = join(world.runs, name, '.stint/children.pids')
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
    return lines.filter((line) => line !== '').map((line) => Number.parseInt(line, 10))
  })
