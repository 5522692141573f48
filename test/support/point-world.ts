import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { vi } from 'vitest'
import {
  assertNoConflicts,
  performUndo,
  planUndoOf,
  type Point,
  type PointOutcome,
  type PointRequest,
  readChangeSets,
  takePoint,
  type UndoResult,
} from '../../src/points/index.ts'
import { World } from './world.ts'

/** A world with a git repository, whose restore points are taken in this process. */
export class PointWorld extends World {
  readonly repo = join(this.tmp, 'repo')

  constructor({ init = [] as readonly string[] } = {}) {
    super()
    // The user of a test has no config of their own.
    mkdirSync(join(this.tmp, 'user'))
    this.env.HOME = join(this.tmp, 'user')
    this.env.XDG_CONFIG_HOME = join(this.tmp, 'user/.config')
    vi.stubEnv('STINT_HOME', this.env.STINT_HOME)
    vi.stubEnv('HOME', this.env.HOME)
    vi.stubEnv('XDG_CONFIG_HOME', this.env.XDG_CONFIG_HOME)
    mkdirSync(this.repo)
    this.git('init', '-q', '-b', 'main', ...init)
    this.git('config', 'user.name', 'A User')
    this.git('config', 'user.email', 'user@example.org')
  }

  git(...args: string[]): string {
    return this.gitIn(this.repo, ...args)
  }

  gitIn(directory: string, ...args: string[]): string {
    const env = { ...this.env, GIT_CONFIG_NOSYSTEM: '1' }
    return execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8', env, stdio: 'pipe' })
  }

  /** Writes files; null removes one. */
  write(files: Readonly<Record<string, string | Buffer | null>>): void {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.repo, name)
      if (content === null) rmSync(path, { recursive: true, force: true })
      else {
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, content)
      }
    }
  }

  link(name: string, target: string): void {
    const path = join(this.repo, name)
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path)
    symlinkSync(target, path)
  }

  read(name: string): string {
    return readFileSync(join(this.repo, name), 'utf8')
  }

  commit(message = 'a commit'): void {
    this.git('add', '-A')
    this.git('commit', '-q', '-m', message)
  }

  /** Takes a point, and returns it. */
  async point(
    kind: PointRequest['kind'],
    sessionId = 'claude-1',
    more: Partial<PointRequest> = {},
  ): Promise<Point> {
    const outcome = await this.tryPoint(kind, sessionId, more)
    if (outcome.outcome !== 'taken') throw new Error(`no point: ${outcome.reason}`)
    return outcome.point
  }

  tryPoint(
    kind: PointRequest['kind'],
    sessionId: string,
    more: Partial<PointRequest> = {},
  ): Promise<PointOutcome> {
    return takePoint({ root: this.repo, kind, sessionId, agent: 'Claude Code', ...more })
  }

  /** One turn of a session: a point, its work, and a point. */
  async turn(sessionId: string, work: () => void, more: Partial<PointRequest> = {}): Promise<Point> {
    const granted = await this.point('grant', sessionId, more)
    work()
    await this.point('end', sessionId, more)
    return granted
  }

  /** Returns a time after which every change of a file has a later ctime: the clock for files has ticks. */
  afterTick(): number {
    const now = Date.now()
    const probe = join(this.tmp, 'probe')
    do writeFileSync(probe, '')
    while (statSync(probe).ctimeMs <= now + 1)
    return now + 1
  }

  /** Undoes change sets, as the command does for a user who agrees. */
  async undo(ids: readonly string[], { paths = [] as readonly string[] } = {}): Promise<UndoResult> {
    const opened = await readChangeSets(this.repo, {})
    const sets = opened.sets.filter(({ id }) => ids.includes(id))
    const planned = await planUndoOf(opened, sets, paths)
    assertNoConflicts(planned.plan)
    return await performUndo(planned)
  }

  /** Every file of the worktree with its kind, mode and contents, without `.git`. */
  files(directory = this.repo): Map<string, string> {
    return filesBelow(directory, (name) => name !== '.git')
  }

  /** Every file of the user's git directory. */
  gitState(directory = join(this.repo, '.git')): Map<string, string> {
    return filesBelow(directory, () => true)
  }

  /** A command of the store's git. */
  storeGit(...args: string[]): string {
    const points = join(this.env.STINT_HOME ?? '', 'points')
    const [key = ''] = readdirSync(points)
    const env = { ...this.env, GIT_DIR: join(points, key, 'git'), GIT_WORK_TREE: this.repo }
    return execFileSync('git', args, { encoding: 'utf8', cwd: this.repo, env, stdio: 'pipe' })
  }
}

function filesBelow(top: string, isWanted: (name: string) => boolean): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (directory: Buffer, shown: string): void => {
    for (const name of readdirSync(directory, { encoding: 'buffer' })) {
      const text = name.toString('latin1')
      if (!isWanted(text)) continue
      const path = Buffer.concat([directory, Buffer.from('/'), name])
      const stat = lstatSync(path)
      const label = `${shown}${text}`
      if (stat.isDirectory()) visit(path, `${label}/`)
      else if (stat.isSymbolicLink()) found.set(label, `-> ${readlinkSync(path)}`)
      else if (stat.isFile())
        found.set(label, `${(stat.mode & 0o777).toString(8)} ${hash(readFileSync(path))}`)
      else found.set(label, 'special')
    }
  }
  visit(Buffer.from(top), '')
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
