import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot, type Running, until, type World } from './world.ts'

const program = join(projectRoot, 'test/fixtures/doomed.mjs')

/** The directory of the paths that the runs track. */
export const elsewhere = (world: World): string => join(world.tmp, 'elsewhere')

export interface KilledRunsOptions {
  runs: number
  /** How many of the runs are `stint run --no-guard`; the others use the library. */
  ofCli: number
  atOnce: number
}

/** Starts runs and kills each with SIGKILL at a random moment; returns when all have been reaped. */
export async function killRuns(world: World, { runs, ofCli, atOnce }: KilledRunsOptions): Promise<void> {
  mkdirSync(elsewhere(world), { recursive: true })
  const others = world.processes()
  let started = 0
  const killInTurn = async (): Promise<void> => {
    while (started < runs) {
      started += 1
      await killAtRandomMoment(started <= ofCli ? startCli(world) : startLibrary(world, 'busy'))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, killInTurn))
  // Without a guard, the program of a killed `stint run` lives until it ends by itself.
  await until('the programs of the killed runs have ended', () =>
    world.processes().every((pid) => others.includes(pid)),
  )
}

/** Starts runs that stay alive and do not change their scratch. */
export async function startLiveRuns(world: World, count: number): Promise<Running[]> {
  mkdirSync(elsewhere(world), { recursive: true })
  const runs: Running[] = []
  for (let i = 0; i < count; i++) {
    const run = startLibrary(world, 'calm')
    runs.push(run)
    await until('the run is up', () => run.output().stdout === 'up\n')
  }
  return runs
}

const startLibrary = (world: World, mode: 'busy' | 'calm'): Running =>
  world.start(process.execPath, [program, mode, elsewhere(world)])

const startCli = (world: World): Running =>
  world.startStint([
    'run',
    '--no-guard',
    '--',
    'sh',
    '-c',
    'mkdir "$TMPDIR/d"; date > "$TMPDIR/d/f"; echo up; sleep 0.2',
  ])

async function killAtRandomMoment({ child, finished, output }: Running): Promise<void> {
  // Kill one in ten while it starts, the others during their work.
  if (Math.random() > 0.1)
    await until('it is up', () => output().stdout.startsWith('up') || child.exitCode !== null)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 30))
  child.kill('SIGKILL')
  const { code, stderr } = await finished
  if (code !== null && code !== 0) throw new Error(`the run ended by itself with ${code}: ${stderr}`)
}
