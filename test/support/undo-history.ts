import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../../src/base/errors/if-possible.ts'
import {
  type ChangeSet,
  type LastActs,
  type PathChange,
  performUndo,
  type PlannedUndo,
  planUndoOf,
  readChanges,
  readChangeSets,
} from '../../src/points/index.ts'
import { PointWorld } from './point-world.ts'
import { seeded } from './random.ts'
import {
  differingPaths,
  expectedAfterUndo,
  isSame,
  type OracleSet,
  type OracleTree,
  readOracleTree,
} from './undo-oracle.ts'

const paths = ['a', 'b', 'c', 'd', 'd/x', 'd/y', 'e/f/g', 'e/h', `q "\n'`]
const sessions = ['claude-1', 'codex-1', 'gemini-1']

/** A turn as the test knows it. */
interface KnownTurn {
  id: string
  sessionId: string
  before: OracleTree
  /** When the session had done its work. */
  worked: OracleTree
  /** At its end, or at the next point if the end was not seen. */
  after?: OracleTree
  isEndSeen: boolean
}

/** How changes are attributed: as stint does it, or as others do, which must be found to be wrong. */
export type Attribution = 'claims' | 'directory-diff'

/**
 * A random history of a worktree: turns of three sessions, edits of a person between them, commits and other
 * branches; then undo and redo of random sets of turns, each compared with an oracle.
 */
export class UndoHistory {
  readonly #world: PointWorld
  readonly #random: () => number
  readonly #attribution: Attribution
  readonly #turns: KnownTurn[] = []
  /** The last turn if its end was not seen, and when it last did something. */
  #open: { turn: KnownTurn; lastActs: LastActs } | undefined
  #branches = 0
  readonly outcomes = { undone: 0, conflicts: 0 }

  constructor(world: PointWorld, seed: number, attribution: Attribution = 'claims') {
    this.#world = world
    this.#random = seeded(seed)
    this.#attribution = attribution
    for (const path of ['a', 'b', 'd/x']) this.#write(path, this.#text())
    world.commit()
  }

  /** Adds something to the history. */
  async step(): Promise<void> {
    const chance = this.#random()
    if (chance < 0.6) await this.#turn()
    else if (chance < 0.85) this.#work()
    else this.#commitOrSwitch()
  }

  /** Undoes random turns and takes that back. Returns what was wrong; undefined if all was right. */
  async trial(): Promise<string | undefined> {
    const world = this.#world
    const lastActs = this.#open?.lastActs
    const opened = await readChangeSets(world.repo, lastActs ?? {})
    const { store, sets, presentTree } = opened
    if (this.#open !== undefined) this.#open.turn.after = readOracleTree(world.repo)
    const before = readOracleTree(world.repo)
    const share = this.#pick([1, 2, 3, this.#turns.length]) / Math.max(1, this.#turns.length)
    const turns = this.#turns.filter(() => this.#random() < share).toReversed()
    const chosen = turns.flatMap(({ id }) => sets.find((set) => set.id === id) ?? [])
    if (chosen.length !== turns.length) return 'a turn has no change set'
    const changes = await readChanges(store, chosen)
    const wrong = turns
      .map((turn, index) => wrongPaths(turn, changes[index] ?? []))
      .find((each) => each !== undefined)
    if (wrong !== undefined) return wrong
    const oracleSets = turns.map((turn, index) => oracleSet(turn, changes[index] ?? []))
    const expected = expectedAfterUndo(before, oracleSets)
    const oldestFirst = chosen.toReversed()
    const seen =
      this.#attribution === 'claims'
        ? oldestFirst
        : oldestFirst.map((set): ChangeSet => ({ ...set, to: { ...set.to, tree: presentTree } }))
    const planned = await planUndoOf(opened, seen)
    const { conflicts, changes: writes } = planned.plan
    if (conflicts.length > 0) {
      this.outcomes.conflicts += 1
      const isRight =
        expected === undefined && differingPaths(before, readOracleTree(world.repo)).length === 0
      return isRight ? undefined : `a conflict that is none: ${JSON.stringify(conflicts)}`
    }
    if (expected === undefined) return 'a conflict was not seen'
    const paths = writes.map(({ path }) => path)
    if (paths.join('\n') !== differingPaths(before, expected).join('\n'))
      return `plans to write ${paths.join(', ')}`
    return await this.#undoAndRedo(before, expected, planned)
  }

  async #undoAndRedo(
    before: OracleTree,
    expected: OracleTree,
    planned: PlannedUndo,
  ): Promise<string | undefined> {
    const world = this.#world
    const { repo: root } = world
    const gitState = world.gitState()
    const { id } = await performUndo(planned)
    this.#endOpenTurn()
    const wrong = differingPaths(readOracleTree(root), expected)
    if (wrong.length > 0) return `undo has left the wrong bytes in ${wrong.join(', ')}`
    await world.undo([id])
    const notBack = differingPaths(readOracleTree(root), before)
    if (notBack.length > 0) return `redo has left the wrong bytes in ${notBack.join(', ')}`
    const gitAfter = world.gitState()
    if (JSON.stringify([...gitState]) !== JSON.stringify([...gitAfter]))
      return 'the git directory was changed'
    this.outcomes.undone += 1
    return undefined
  }

  /** An undo takes a point, which stands for the end of a turn that was not seen. */
  #endOpenTurn(): void {
    this.#open = undefined
  }

  async #turn(): Promise<void> {
    const world = this.#world
    const sessionId = this.#pick(sessions)
    const lastActs = this.#open?.lastActs
    if (this.#open !== undefined) this.#open.turn.after = readOracleTree(world.repo)
    this.#open = undefined
    const before = readOracleTree(world.repo)
    const { id } = await world.point('grant', sessionId, { lastActs })
    this.#work()
    if (this.#random() < 0.1) this.#commitOrSwitch()
    const worked = readOracleTree(world.repo)
    const turn: KnownTurn = { id, sessionId, before, worked, isEndSeen: this.#random() < 0.85 }
    this.#turns.push(turn)
    if (turn.isEndSeen) {
      await world.point('end', sessionId)
      turn.after = worked
    } else this.#open = { turn, lastActs: { [sessionId]: world.afterTick() } }
  }

  #work(): void {
    const count = 1 + Math.floor(this.#random() * 3)
    for (let done = 0; done < count; done += 1) this.#change(this.#pick(paths))
  }

  #change(path: string): void {
    const absolute = join(this.#world.repo, path)
    const stat = lstatOf(absolute)
    const chance = this.#random()
    if (stat?.isFile() && chance < 0.5) this.#editLine(path)
    else if (stat?.isFile() && chance < 0.6) chmodSync(absolute, (stat.mode & 0o100) === 0 ? 0o755 : 0o644)
    else if (stat !== undefined && chance < 0.75) rmSync(absolute, { recursive: true })
    else if (chance < 0.82) this.#replace(path, () => symlinkSync(this.#pick(paths), absolute))
    else if (chance < 0.88) this.#write(path, Buffer.from([0, 1, Math.floor(this.#random() * 4)]))
    else this.#write(path, this.#text())
  }

  /** Lines are far enough apart for two edits to be merged. */
  #editLine(path: string): void {
    const absolute = join(this.#world.repo, path)
    const lines = readFileSync(absolute, 'latin1').split('\n')
    const at = this.#pick([0, 6, 12]) % lines.length
    lines[at] = `edited ${Math.floor(this.#random() * 1000)}`
    writeFileSync(absolute, lines.join('\n'), 'latin1')
  }

  #text(): string {
    if (this.#random() < 0.1) return ''
    return Array.from({ length: 14 }, (_, index) => `line ${index}\n`).join('')
  }

  #write(path: string, content: string | Buffer): void {
    this.#replace(path, () => writeFileSync(join(this.#world.repo, path), content))
  }

  #replace(path: string, make: () => void): void {
    const root = this.#world.repo
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
      const stat = lstatOf(join(root, parent))
      if (stat !== undefined && !stat.isDirectory()) rmSync(join(root, parent))
    }
    rmSync(join(root, path), { recursive: true, force: true })
    mkdirSync(dirname(join(root, path)), { recursive: true })
    make()
  }

  #commitOrSwitch(): void {
    const world = this.#world
    if (this.#branches > 0 && this.#random() < 0.4) {
      world.git('add', '-A')
      world.git('checkout', '-q', '-f', this.#random() < 0.5 ? 'main' : `b${this.#branches}`)
    } else if (this.#random() < 0.3) {
      this.#branches += 1
      world.git('checkout', '-q', '-b', `b${this.#branches}`)
    } else {
      world.git('add', '-A')
      world.git('commit', '-q', '--allow-empty', '-m', 'a commit')
    }
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item
  }
}

const lstatOf = (path: string) => ifPossible(() => lstatSync(path))

/**
 * A change set of a turn whose end was seen has exactly the paths that the session changed. Without a seen
 * end, it may have fewer, but none that the session did not leave as it is now.
 */
function wrongPaths(turn: KnownTurn, changes: readonly PathChange[]): string | undefined {
  const listed = changes.map(({ path }) => path).sort()
  const own = differingPaths(turn.before, turn.worked)
  if (turn.isEndSeen) return listed.join('\n') === own.join('\n') ? undefined : `${listed} instead of ${own}`
  const strange = listed.filter(
    (path) => !own.includes(path) || !isSame(turn.worked.get(path), turn.after?.get(path)),
  )
  return strange.length === 0 ? undefined : `counts changes of others for ${turn.sessionId}: ${strange}`
}

const oracleSet = ({ before, after, worked }: KnownTurn, changes: readonly PathChange[]): OracleSet => ({
  before,
  after: after ?? worked,
  paths: changes.map(({ path }) => path),
})
