import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHome } from '../../src/base/fs/home.ts'
import { noClaims } from '../../src/lease/claim.ts'
import { computeWorkspaceHash } from '../../src/lease/injected-io-lock.ts'
import { nodeFiles } from '../../src/lease/file-register.ts'
import { type Claim, type ClaimsRecord, type Now } from '../../src/lease/index.ts'
import { type Finished, stintBin, World } from './world.ts'

/** Makes a directory a repository: the least that git takes for one. */
export function makeRepository(directory: string): void {
  for (const name of ['objects', 'refs']) mkdirSync(join(directory, '.git', name), { recursive: true })
  writeFileSync(join(directory, '.git', 'HEAD'), 'ref: refs/heads/main\n')
}

/** A world with a home and a workspace of its own, which is a repository. */
export class LockWorld extends World {
  readonly home = join(this.tmp, 'home')
  readonly workspace = join(this.tmp, 'work')

  constructor(parent?: string) {
    super({}, parent)
    this.env.STINT_HOME = this.home
    makeRepository(this.workspace)
  }

  get key(): string {
    return computeWorkspaceHash(this.workspace)
  }

  get locks(): string {
    return join(this.home, 'locks', this.key)
  }

  lock(args: string[], cwd: string = this.workspace): Promise<Finished> {
    return this.stint(['lock', ...args, '--json'], { cwd })
  }

  /** Runs as user 54321, who has no name, in a user namespace in which that user owns the test's files. */
  lockUnnamed(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
    const user = ['--user', '--map-user=54321', '--map-group=54321']
    const stint = [process.execPath, stintBin, 'lock', ...args, '--json']
    return this.start('unshare', [...user, ...stint], { cwd: this.workspace, env }).finished
  }

  /** Plants a record as the newest epoch. */
  plant(text: string): void {
    ensureHome(this.home)
    mkdirSync(this.locks, { recursive: true, mode: 0o700 })
    const epochs = readdirSync(this.locks).map(Number)
    writeFileSync(join(this.locks, String(Math.max(0, ...epochs) + 1)), text, { mode: 0o600 })
  }

  /** Plants a claim of five minutes that belongs to no process, unless told otherwise. */
  plantClaim(claim: Partial<Claim>, more: Partial<ClaimsRecord> = {}): void {
    const { wall, mono, clock } = nodeFiles.now() as Now
    const full: Claim = {
      session_id: 'planted',
      holders: [],
      paths: ['**'],
      mode: 'exclusive',
      fence: 1,
      first_fence: 1,
      acquired_at: Math.round(wall),
      clock,
      until: Math.round(mono + 300_000),
      until_wall: Math.round(wall + 300_000),
      ...claim,
    }
    this.plant(JSON.stringify({ ...noClaims(this.workspace), claims: [full], ...more }))
  }
}

/** The claims in the record of the workspace, in force or not. */
export function recordedClaims({ locks }: LockWorld): Claim[] {
  const epochs = existsSync(locks) ? readdirSync(locks).map(Number).filter(Number.isInteger) : []
  if (epochs.length === 0) return []
  const text = readFileSync(join(locks, String(Math.max(...epochs))), 'utf8')
  return (JSON.parse(text) as ClaimsRecord).claims
}

export const dataOf = (result: Finished) => result.envelope().data as Record<string, unknown>
export const errorOf = (result: Finished) => result.envelope().error
