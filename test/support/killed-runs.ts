import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot, type Running, until, type World } from './world.ts'

const program = join(projectRoot, 'test/fixtures/doomed.mjs')

/** Where the runs put what they track outside of their scratches. */
export const elsewhere = (world: World): string => join(world.tmp, 'elsewhere')

export interface KilledRunsOptions {
  runs: number
  /** How many of them are `stint run --no-guard`; the others use the library. */
  ofCli: number
  atOnce: number
}

/** Starts runs and kills each with SIGKILL at some moment, from its first one on; returns when all are dead and buried. */
export async function killRuns(world: World, { runs, ofCli, atOnce }: KilledRunsOptions): Promise<void> {
  mkdirSync(elsewhere(world), { recursive: true })
  const others = world.processes()
  let started = 0
  const oneAfterTheOther = async (): Promise<void> => {
    while (started < runs) {
      started += 1
      await killAtSomeMoment(started <= ofCli ? startCli(world) : startLibrary(world, 'busy'))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, oneAfterTheOther))
  // Without a guard, the program of a killed `stint run` lives on until it ends by itself.
  await until('the programs of the killed runs have ended', () =>
    world.processes().every((pid) => others.includes(pid)),
  )
}

/** Runs that are alive, and do nothing that changes their scratch. */
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

async function killAtSomeMoment({ child, finished, output }: Running): Promise<void> {
  // One in ten while it starts; the others at any moment of their work.
  if (Math.random() > 0.1)
    await until('it is up', () => output().stdout.startsWith('up') || child.exitCode !== null)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 30))
  child.kill('SIGKILL')
  const { code, stderr } = await finished
  if (code !== null && code !== 0) throw new Error(`it ended by itself, with ${code}: ${stderr}`)
}
