import { join } from 'node:path'
import { projectRoot, type World } from './world.ts'

export interface Swapper extends AsyncDisposable {
  /** How often a link has stood in place of a directory. */
  swaps: () => number
  stop: () => Promise<void>
}

/** A process beside us that swaps directories in `places`, and those in them, for links to `outside`, all the time. */
export function startSwapper(
  world: World,
  { places, outside }: { places: readonly string[]; outside: string },
): Swapper {
  const aside = join(world.tmp, 'aside')
  const program = join(projectRoot, 'test/fixtures/swapper.mjs')
  const { child, finished, output } = world.start(process.execPath, [program, aside, outside, ...places])
  const swaps = (): number => Number(output().stdout.trimEnd().split('\n').at(-1) ?? 0)
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await finished
  }
  return { swaps, stop, [Symbol.asyncDispose]: stop }
}
