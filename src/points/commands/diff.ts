import { spawn } from 'node:child_process'
import { defineBareCommand } from '../../command/define-command.ts'
import { type Screen, wantsColour } from '../../command/stdio.ts'
import { print } from '../../cli/terminal/print.ts'
import { formatTime, utcOption } from '../../cli/text/format.ts'
import { utf8Of } from '../../base/fs/paths.ts'
import { visibleAnswer, visibleText } from '../../base/text/escape.ts'
import {
  type ChangeSet,
  environmentWithoutGit,
  gitOutput,
  type PathChange,
  type PointStore,
  readChanges,
} from '../index.ts'
import { authorOf, describeSet } from './describe-sets.ts'
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
    const { store, sets } = await openChangeSets(options.workspace)
    const chosen = chooseSets(sets, what)
    const wanted = pathsInRoot(store.root, paths)
    const isWanted = ({ path }: PathChange): boolean =>
      wanted.length === 0 || wanted.some((each) => path === each || path.startsWith(`${each}/`))
    const changes = (await readChanges(store, chosen, { countLines: true })).map((each) =>
      each.filter(isWanted),
    )
    const format = { isStat: options.stat, hasColour: !json && wantsColour(isTerminal(screen), process.env) }
    const patches: Buffer[] = []
    for (const [index, set] of chosen.entries())
      patches.push(
        titleOf(set, options, chosen.length),
        await patchOf(store, set, changes[index] ?? [], format),
      )
    if (!json) await show(store.root, Buffer.concat(patches), screen)
    return {
      sets: chosen.map((set, index) => describeSet(set, changes[index] ?? [])),
      patch: json ? utf8Of(Buffer.concat(patches).toString('latin1')) : '',
    }
  },
})

/** A line before each of several diffs, which `git apply` skips. */
function titleOf(set: ChangeSet, zone: { utc: boolean }, count: number): Buffer {
  if (count === 1) return Buffer.alloc(0)
  const { id, kind, agent, session_id, from } = set
  const author = authorOf({ kind, agent: agent ?? null, session_id: session_id ?? null })
  return Buffer.from(`${visibleText(`# ${id}, ${author}, ${formatTime(from.at, zone)}`)}\n`)
}

interface PatchFormat {
  isStat: boolean
  hasColour: boolean
}

/** The diff of these paths of a change set, as git formats it. */
export async function patchOf(
  store: PointStore,
  { from, to }: ChangeSet,
  changes: readonly PathChange[],
  { isStat, hasColour }: PatchFormat,
): Promise<Buffer> {
  if (changes.length === 0) return Buffer.alloc(0)
  const flags = [isStat ? '--stat' : '--patch', `--color=${hasColour ? 'always' : 'never'}`, '--find-renames']
  const paths = changes.map(({ path }) => Buffer.from(path, 'latin1').toString())
  return await store.git(['diff-tree', '-r', ...flags, from.tree, to.tree, '--', ...paths])
}

const isTerminal = ({ columns }: Screen): boolean => columns !== Number.POSITIVE_INFINITY

/** Prints a diff: as it is to a pipe, and through the user's pager to a terminal. */
async function show(root: string, patch: Buffer, screen: Screen): Promise<void> {
  if (!isTerminal(screen)) return void print(patch)
  const text = visibleAnswer(patch.toString())
  const pager = await findPager(root)
  if (pager === '' || pager === 'cat' || !(await page(pager, text))) print(text)
}

/** The pager that git would use here. */
const findPager = (root: string): Promise<string> =>
  gitOutput(['-C', root, 'var', 'GIT_PAGER'], {
    env: { ...environmentWithoutGit(), ...(process.env.GIT_PAGER && { GIT_PAGER: process.env.GIT_PAGER }) },
  }).then(
    (output) => output.toString().trim(),
    () => '',
  )

/** Runs the pager on a text, with the variables that git sets for it; false if it cannot be started. */
function page(pager: string, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    const env = { LESS: 'FRX', LV: '-c', ...process.env }
    const child = spawn('sh', ['-c', pager], { stdio: ['pipe', 'inherit', 'inherit'], env })
    // Ctrl-C is for the pager, which has its own use for it.
    const ignore = (): void => {}
    process.on('SIGINT', ignore)
    child.once('error', () => resolve(false))
    child.once('close', () => {
      process.off('SIGINT', ignore)
      resolve(true)
    })
    // The user may end the pager before it has read everything.
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}
