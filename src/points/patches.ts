import type { ChangeSet } from './change-sets.ts'
import { splitNul } from './git.ts'
import type { PointStore } from './store.ts'

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

/** Reads the patches of the paths of a change set that are wanted. Files that were moved are recognized. */
export async function readPatches(
  store: PointStore,
  { from, to }: Pick<ChangeSet, 'from' | 'to'>,
  isWanted: (path: string) => boolean,
  { hasColour = false } = {},
): Promise<FilePatch[]> {
  // Not the paths as arguments: there may be more than a command line can have.
  const diff = ['diff-tree', '-r', '-M', '--full-index', `--color=${hasColour ? 'always' : 'never'}`]
  const [names, patch] = await Promise.all([
    store.git([...diff, '--name-status', '-z', from.tree, to.tree]),
    store.git([...diff, '--patch', from.tree, to.tree]),
  ])
  const texts = patch.toString('latin1').split(headerStart)
  return parseNames(splitNul(names))
    .map((name, index) => ({ ...name, text: texts[index] ?? '' }))
    .filter(({ path, movedFrom = path }) => isWanted(path) || isWanted(movedFrom))
}

const changes: Readonly<Record<string, FilePatch['change']>> = { A: 'added', D: 'deleted', R: 'moved' }

/** A status is followed by a path, or by two if the file was moved. */
function parseNames(tokens: readonly string[]): Omit<FilePatch, 'text'>[] {
  const names: Omit<FilePatch, 'text'>[] = []
  for (let at = 0; at < tokens.length; at += 2) {
    const change = changes[tokens[at]?.[0] ?? ''] ?? 'changed'
    const path = tokens[at + 1] ?? ''
    if (change === 'moved') {
      names.push({ change, movedFrom: path, path: tokens[at + 2] ?? '' })
      at += 1
    } else names.push({ change, path })
  }
  return names
}
