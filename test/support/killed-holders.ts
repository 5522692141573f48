import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { listIfReadable } from '../../src/base/fs/exists.ts'
import { homeStore } from '../../src/lease/file-register.ts'
import { acquireLease } from '../../src/lease/lease.ts'
import { fastDirectory } from './lock-storm.ts'
import { isRunning, projectRoot, type Running, until, type World } from './world.ts'

const isEpoch = (name: string): boolean => /^\d+$/.test(name)

/** A home and a workspace, for leases of this and of other processes. Removed on disposal. */
export function lockGround(under: string) {
  const directory = mkdtempSync(join(under, 'stint-lock-'))
  const [home, workspace] = [join(directory, 'home'), join(directory, 'workspace')]
  mkdirSync(workspace)
  const env = { STINT_HOME: home }
  const locks = join(home, 'locks')
  const entries = (): string[] => listIfReadable(locks).flatMap((key) => listIfReadable(join(locks, key)))
  return {
    env,
    workspace,
    store: homeStore(env),
    entries,
    epochs: (): string[] => entries().filter(isEpoch),
    /** Files that swaps have staged, and not removed. */
    staged: (): string[] => entries().filter((name) => !isEpoch(name)),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** The locks and files that remain after the kills. */
export interface KilledHolders {
  /** Changes of the claims by the killed processes. */
  cycles: number
  /** The most epochs that a key had after a kill. */
  mostEpochs: number
  /** Those that remain at the end, and the staged files. */
  epochs: string[]
  staged: string[]
}

/**
 * Kills processes that take and release a lock in a loop, each at a random moment, and takes the lock right
 * after each kill; throws if it is held or its fence has not increased.
 */
export async function killHolders(
  world: World,
  times: number,
  purposeLength: number,
): Promise<KilledHolders> {
  using ground = lockGround(fastDirectory)
  const { env, workspace, store } = ground
  const program = join(projectRoot, 'test/fixtures/lock-cycler.mjs')
  const start = (): Running =>
    world.start(process.execPath, [program, workspace, String(purposeLength)], { env })
  // Two more start up while one is at work.
  const waiting: Running[] = [start(), start()]
  const report = { cycles: 0, mostEpochs: 0 }
  let fence = 0
  let epoch = 0
  for (let time = 0; time < times; time++) {
    waiting.push(start())
    const cycler = waiting.shift()
    if (cycler === undefined) throw new Error('the queue is never empty')
    const prints = (word: string) => until(`it prints ${word}`, () => cycler.output().stdout.includes(word))
    await prints('ready')
    cycler.child.kill('SIGUSR2')
    await prints('going')
    // Half of them are killed later, when they have certainly been at work.
    const hasWorked = (): boolean => ground.entries().some((name) => Number(name) > epoch + 3)
    if (time % 4 < 2) await until('it has taken and released the lock', hasWorked)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
    cycler.child.kill('SIGKILL')
    // Every other one is still a zombie when its lock is taken.
    if (time % 2 === 0) while (isRunning(cycler.pid));
    else await cycler.finished
    const lease = await acquireLease({ sessionId: `next-${time}`, workspace, store })
    if (lease.fence <= fence) throw new Error(`fence ${lease.fence} after ${fence}`)
    report.cycles += lease.epoch - epoch
    fence = lease.fence
    epoch = lease.epoch
    report.mostEpochs = Math.max(report.mostEpochs, ground.epochs().length)
    await lease.release()
    await cycler.finished
  }
  for (const cycler of waiting) cycler.child.kill('SIGKILL')
  await Promise.all(waiting.map(({ finished }) => finished))
  await (await acquireLease({ sessionId: 'last', workspace, store })).release()
  return { ...report, epochs: ground.epochs(), staged: ground.staged() }
}
