import { join } from 'node:path'
import { projectRoot, type World } from './world.ts'

export interface Swapper extends AsyncDisposable {
  /** How often a link has replaced a directory. */
  swaps: () => number
  stop: () => Promise<void>
}

/**
 * Starts a process that keeps swapping directories in `places`, and those in them, for links to `outside`.
 */
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
