import { spawnSync } from 'node:child_process'
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file or link of a worktree, with its contents in Latin-1. */
export interface OracleEntry {
  kind: 'file' | 'program' | 'link'
  content: string
}

/** Every file of a worktree by its path. Directories that are empty are not in it. */
export type OracleTree = Map<string, OracleEntry>

/** Reads a worktree without git. */
export function readOracleTree(root: string, directory = ''): OracleTree {
  const tree: OracleTree = new Map()
  for (const name of readdirSync(join(root, directory))) {
    const path = directory === '' ? name : `${directory}/${name}`
    if (path === '.git') continue
    const stat = lstatSync(join(root, path))
    if (stat.isDirectory()) for (const [below, entry] of readOracleTree(root, path)) tree.set(below, entry)
    else if (stat.isSymbolicLink()) tree.set(path, { kind: 'link', content: readlinkSync(join(root, path)) })
    else {
      const kind = (stat.mode & 0o100) === 0 ? 'file' : 'program'
      tree.set(path, { kind, content: readFileSync(join(root, path), 'latin1') })
    }
  }
  return tree
}

export const isSame = (one: OracleEntry | undefined, two: OracleEntry | undefined): boolean =>
  one?.kind === two?.kind && one?.content === two?.content

/** The paths that differ. */
export function differingPaths(one: OracleTree, two: OracleTree): string[] {
  return [...new Set([...one.keys(), ...two.keys()])]
    .filter((path) => !isSame(one.get(path), two.get(path)))
    .sort()
}

/** A change set as the test knows it: what was there before and after, and the paths that count. */
export interface OracleSet {
  before: OracleTree
  after: OracleTree
  paths: readonly string[]
}

/**
 * What undoing these sets, newest first, has to make of a worktree; undefined if it has to be a conflict.
 * Written from the words of the documentation, and without the code that it checks.
 */
export function expectedAfterUndo(present: OracleTree, sets: readonly OracleSet[]): OracleTree | undefined {
  const result: OracleTree = new Map(present)
  for (const { before, after, paths } of sets)
    for (const path of paths) {
      const undone = undoneEntry(before.get(path), after.get(path), result.get(path))
      if (undone === 'conflict') return undefined
      if (undone === undefined) result.delete(path)
      else result.set(path, undone)
    }
  return canExist(result) ? result : undefined
}

function undoneEntry(
  before: OracleEntry | undefined,
  after: OracleEntry | undefined,
  present: OracleEntry | undefined,
): OracleEntry | undefined | 'conflict' {
  if (isSame(present, after)) return before
  if (isSame(present, before)) return present
  if (before === undefined || after === undefined || present === undefined) return 'conflict'
  if ([before, after, present].some(({ kind }) => kind === 'link')) return 'conflict'
  const kind = present.kind === after.kind ? before.kind : present.kind
  const content = mergedContent(before.content, after.content, present.content)
  return content === undefined ? 'conflict' : { kind, content }
}

function mergedContent(before: string, after: string, present: string): string | undefined {
  if (present === after) return before
  if (present === before || before === after) return present
  const directory = mkdtempSync(join(tmpdir(), 'merge-'))
  try {
    const files = [present, after, before].map((content, index) => {
      const file = join(directory, String(index))
      writeFileSync(file, content, 'latin1')
      return file
    })
    const { status, stdout } = spawnSync('git', ['merge-file', '-p', '-q', ...files], { encoding: 'latin1' })
    return status === 0 ? stdout : undefined
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** A path cannot be a file and a directory. */
const canExist = (tree: OracleTree): boolean =>
  ![...tree.keys()].some((path) => {
    const parts = path.split('/')
    return parts.some((_, index) => index > 0 && tree.has(parts.slice(0, index).join('/')))
  })
