import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHome } from '../../src/base/fs/home.ts'
import { computeWorkspaceHash } from '../../src/lease/injected-io-lock.ts'
import { ownIdentity } from '../../src/base/process/liveness.ts'
import { type Finished, stintBin, World } from './world.ts'

/** A world with a home and a workspace of its own. */
export class LockWorld extends World {
  readonly home = join(this.tmp, 'home')
  readonly workspace = join(this.tmp, 'work')

  constructor(parent?: string) {
    super({}, parent)
    this.env.STINT_HOME = this.home
    mkdirSync(this.workspace)
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
    symlinkSync(text, join(this.locks, String(Math.max(0, ...epochs) + 1)))
  }

  plantClaim(claim: object, more: object = {}): void {
    const boot = ownIdentity().boot.slice(0, 8)
    const full = {
      session_id: 'planted',
      acquired_at: Date.now(),
      refreshed_at: Date.now(),
      ttl_ms: 300_000,
      fence: 1,
      ...claim,
    }
    this.plant(
      JSON.stringify({
        schema_version: 1,
        workspace: this.workspace,
        generation: 0,
        boot,
        claims: [full],
        ...more,
      }),
    )
  }
}

export const dataOf = (result: Finished) => result.envelope().data as Record<string, unknown>
export const errorOf = (result: Finished) => result.envelope().error
