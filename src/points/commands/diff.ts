import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { defineBareCommand } from '../../command/define-command.ts'
import { type Screen, wantsColour } from '../../command/context.ts'
import { print } from '../../cli/terminal/print.ts'
import { formatTime, utcOption } from '../../cli/text/format.ts'
import { utf8Of } from '../../base/fs/paths.ts'
import { visibleAnswer, visibleText } from '../../base/text/escape.ts'
import {
  type ChangeSet,
  environmentWithoutGit,
  isChosenPath,
  type PathChange,
  type PointStore,
  readChanges,
  readPatches,
  type WorktreeChangeSets,
} from '../index.ts'
import { authorOf, type DescribedSet, describeSet } from './changes.ts'
import { chooseSets, openChangeSets, pathsInRoot, readWhat, workspaceOption } from './which-sets.ts'

export const diffCommand = defineBareCommand({
  name: 'diff',
  summary:
    "Shows what a change set, or a session, changed, in git's format. Without a name: the newest turn that is not undone.",
  options: {
    stat: { type: 'boolean', help: 'only the files, with the number of changed lines' },
    ...workspaceOption,
    ...utcOption,
  },
  positionals: '[CHANGES] [-- PATH…]',
  envelope: 'on-request',
  examples: [
    ['stint diff', 'what the last turn changed'],
    ['stint diff claude -- src', 'what the newest session of Claude Code changed in src'],
    ['stint diff k3m9 --stat', 'the files of one change set'],
  ],
  async run({ json, screen }, { options, ...args }) {
    const { what, paths } = readWhat(args)
    const opened = await openChangeSets(options.workspace)
    const { root } = opened.store
    const hasColour = !json && wantsColour(isTerminal(screen), process.env)
    const format = { isStat: options.stat, hasColour, utc: options.utc }
    const { sets, patch } = await readPatch(opened, what, pathsInRoot(root, paths), format)
    if (!json && patch.length > 0) await show(root, patch, screen)
    return { sets, patch: json ? utf8Of(patch.toString('latin1')) : '' }
  },
})

interface PatchFormat {
  isStat: boolean
  hasColour: boolean
  utc: boolean
}

/** Reads what WHAT has changed: the change sets, and their diffs in git's format, one after the other. */
export async function readPatch(
  { store, sets }: WorktreeChangeSets,
  what: string | undefined,
  paths: readonly string[],
  format: PatchFormat,
): Promise<{ sets: DescribedSet[]; patch: Buffer }> {
  const chosen = chooseSets(sets, what)
  const allChanges = await readChanges(store, chosen, { countLines: true })
  const described: DescribedSet[] = []
  const patches: Buffer[] = []
  for (const [index, set] of chosen.entries()) {
    const changes = (allChanges[index] ?? []).filter(({ path }) => isChosenPath(path, paths))
    const description = describeSet(set, changes)
    described.push(description)
    // A line before each of several diffs, which `git apply` skips.
    const title = `# ${set.id}, ${authorOf(description)}, ${formatTime(set.from.at, format)}`
    if (chosen.length > 1) patches.push(Buffer.from(`${visibleText(title)}\n`))
    if (changes.length > 0) patches.push(await patchOf(store, set, changes, format))
  }
  return { sets: described, patch: Buffer.concat(patches) }
}

/** The diff of these paths of a change set, as git formats it. */
async function patchOf(
  store: PointStore,
  set: ChangeSet,
  changes: readonly PathChange[],
  { isStat, hasColour }: PatchFormat,
): Promise<Buffer> {
  const paths = new Set(changes.map(({ path }) => path))
  const isColoured = hasColour && !isStat
  const patches = await readPatches(store, set, (path) => paths.has(path), { hasColour: isColoured })
  const patch = Buffer.from(patches.map(({ text }) => text).join(''), 'latin1')
  return isStat ? await store.git(['apply', '--stat'], { input: patch }) : patch
}

const isTerminal = ({ columns }: Screen): boolean => columns !== Number.POSITIVE_INFINITY

/** Prints a diff: as it is to a pipe, and as git shows its own, through the user's pager, to a terminal. */
async function show(root: string, patch: Buffer, screen: Screen): Promise<void> {
  if (!isTerminal(screen)) return void print(patch)
  const text = visibleAnswer(patch.toString())
  // Git starts the pager for this alias, with the variables that pagers want.
  const args = ['-C', root, '--paginate', '-c', 'alias.stint-diff=!cat', 'stint-diff']
  const env = {
    ...environmentWithoutGit(),
    ...(process.env.GIT_PAGER && { GIT_PAGER: process.env.GIT_PAGER }),
  }
  const child = spawn('git', args, { stdio: ['pipe', 'inherit', 'inherit'], env })
  // Ctrl-C is for the pager, which has its own use for it.
  const ignore = (): void => {}
  process.on('SIGINT', ignore)
  // The user may end the pager before it has read everything.
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  await once(child, 'close')
  process.off('SIGINT', ignore)
}
