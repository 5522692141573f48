import { StintError } from '../base/errors/stint-error.ts'
import { splitNul } from './git.ts'
import type { PointStore } from './store.ts'

/** A file in a tree: its git mode (`100644`, `100755`, `120000`) and the id of its contents. */
export interface TreeEntry {
  mode: string
  oid: string
}

/** A path that differs between two trees; without `before` it was added, without `after` it was deleted. */
export interface PathChange {
  path: string
  before?: TreeEntry
  after?: TreeEntry
  /** Lines; null for a binary file. Only with `countLines`. */
  added?: number | null
  removed?: number | null
}

export const isSameEntry = (one: TreeEntry | undefined, two: TreeEntry | undefined): boolean =>
  one?.mode === two?.mode && one?.oid === two?.oid

/** Compares pairs of trees in one git process. */
export async function diffTrees(
  store: PointStore,
  pairs: readonly (readonly [from: string, to: string])[],
  { countLines = false } = {},
): Promise<PathChange[][]> {
  const differing = pairs.filter(([from, to]) => from !== to)
  if (differing.length === 0) return pairs.map(() => [])
  const format = countLines ? ['--raw', '--numstat'] : ['--raw']
  const output = await store.git(
    ['diff-tree', '--stdin', '-r', '-z', '--no-renames', '--no-abbrev', ...format],
    { input: differing.map((pair) => `${pair.join(' ')}\n`).join('') },
  )
  const diffs = parseDiffs(splitNul(output))
  return pairs.map(([from, to]) => (from === to ? [] : (diffs.shift() ?? [])))
}

/** The line that begins each pair; it ends with a line break even with `-z`. */
const pairLine = /^[0-9a-f]{40,64} [0-9a-f]{40,64}\n/

/** A raw line is followed by its path; a line of `--numstat` has it inside. */
function parseDiffs(tokens: readonly string[]): PathChange[][] {
  const diffs: Map<string, PathChange>[] = []
  for (let at = 0; at < tokens.length; at += 1) {
    let token = tokens[at] ?? ''
    for (; pairLine.test(token); token = token.replace(pairLine, '')) diffs.push(new Map())
    const current = diffs.at(-1)
    if (token.startsWith(':')) {
      const [before, after, beforeId, afterId] = token.slice(1).split(' ')
      at += 1
      const path = tokens[at] ?? ''
      current?.set(path, { path, before: entryOf(before, beforeId), after: entryOf(after, afterId) })
      continue
    }
    const [, added = '', removed = '', path = ''] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(token) ?? []
    Object.assign(current?.get(path) ?? {}, { added: lines(added), removed: lines(removed) })
  }
  return diffs.map((changes) => [...changes.values()])
}

const entryOf = (mode = '', oid = ''): TreeEntry | undefined =>
  mode === '000000' ? undefined : { mode, oid }

const lines = (text: string): number | null => (text === '-' ? null : Number(text))

/** Reads contents from a store in one git process, by id. Throws if one is missing. */
export async function readBlobs(store: PointStore, oids: Iterable<string>): Promise<Map<string, Buffer>> {
  const wanted = [...new Set(oids)]
  const blobs = new Map<string, Buffer>()
  if (wanted.length === 0) return blobs
  const output = await store.git(['cat-file', '--batch'], { input: `${wanted.join('\n')}\n` })
  let at = 0
  for (const oid of wanted) {
    const start = output.indexOf('\n', at) + 1
    const [, kind, size] = output.toString('latin1', at, start).split(' ')
    if (kind !== 'blob')
      throw new StintError('POINT_DAMAGED', `the restore point lacks the contents ${oid.slice(0, 12)}`)
    const end = start + Number(size)
    blobs.set(oid, output.subarray(start, end))
    at = end + 1
  }
  return blobs
}

/** How one file was changed. Paths and text are in Latin-1, one character a byte. */
export interface FilePatch {
  path: string
  change: 'added' | 'deleted' | 'changed' | 'moved'
  movedFrom?: string
  /** In git's format, with its header. */
  text: string
}

/** The header of the next file, perhaps in bold: a line of a file begins with a space or a sign. */
const bold = String.raw`\u001B\[1m`
const headerStart = new RegExp(`^(?=(?:${bold})?diff --git )`, 'm')

const changeNames: Readonly<Record<string, FilePatch['change']>> = { A: 'added', D: 'deleted', R: 'moved' }

/** Reads the patches of the wanted paths between two points. Files that were moved are recognized. */
export async function readPatches(
  store: PointStore,
  { from, to }: { from: { tree: string }; to: { tree: string } },
  isWanted: (path: string) => boolean,
  { hasColour = false } = {},
): Promise<FilePatch[]> {
  // Not the paths as arguments: there may be more than a command line can have.
  const diff = ['diff-tree', '-r', '-M', `--color=${hasColour ? 'always' : 'never'}`]
  const [names, patch] = await Promise.all([
    store.git([...diff, '--name-status', '-z', from.tree, to.tree]),
    store.git([...diff, '--patch', from.tree, to.tree]),
  ])
  const patches: FilePatch[] = []
  const tokens = splitNul(names).values()
  const nextToken = (): string => tokens.next().value ?? ''
  for (const text of patch.toString('latin1').split(headerStart)) {
    // A status is followed by a path, or by two if the file was moved.
    const change = changeNames[nextToken().charAt(0)] ?? 'changed'
    const movedFrom = change === 'moved' ? nextToken() : undefined
    const path = nextToken()
    if (isWanted(path) || (movedFrom !== undefined && isWanted(movedFrom)))
      patches.push({ path, change, movedFrom, text })
  }
  return patches
}
