import { dirname, resolve } from 'node:path'

/** A command line of git, as far as the guard reads it. */
export interface GitCommand {
  /** The subcommand; empty if there is none, or if the command line cannot be seen. */
  name: string
  /** The words after the subcommand. */
  args: readonly string[]
  /** The options before it, each with its value; one without a value has `''`. */
  options: readonly (readonly [name: string, value: string])[]
}

/** Options before the subcommand whose value may be the next word. */
const withValue = new Set(['-C', '-c', '--git-dir', '--work-tree', '--namespace', '--config-env'])

/** Splits the words after `git`. */
export function parseGitCommand(words: readonly string[]): GitCommand {
  const options: [string, string][] = []
  let at = 0
  for (; words[at]?.startsWith('-'); at++) {
    const [, name = '', value] = /^(-[^=]*)(?:=([^]*))?$/.exec(words[at] ?? '') ?? []
    options.push([name, value ?? (withValue.has(name) ? (words[++at] ?? '') : '')])
  }
  return { name: words[at] ?? '', args: words.slice(at + 1), options }
}

/**
 * The directories that a command of git works on: its working tree, and the one around the repository if
 * `--git-dir` or a variable names another. As in git, an option counts more than a variable. A command that
 * only makes a directory works on that one, and one that only makes a branch on none.
 */
export function gitDirectories(command: GitCommand, cwd: string, env: NodeJS.ProcessEnv): string[] {
  const { options } = command
  const valueOf = (name: string): string | undefined => options.findLast(([each]) => each === name)?.[1]
  const from = options.reduce((at, [name, value]) => (name === '-C' ? resolve(at, value) : at), cwd)
  const tree = valueOf('--work-tree') ?? env.GIT_WORK_TREE
  const repository = valueOf('--git-dir') ?? env.GIT_DIR
  const isElsewhere = tree !== undefined || repository !== undefined
  const newPaths = createsBranch(command) ? [] : isElsewhere ? undefined : newDirectories(command)
  if (newPaths !== undefined) return newPaths.map((directory) => resolve(from, directory))
  return [
    resolve(from, tree ?? ''),
    ...(repository === undefined ? [] : [dirname(resolve(from, repository))]),
  ]
}

/** True for `git branch NAME [START]`, which fails if there is such a branch, and changes no file. */
export function createsBranch({ name, args }: GitCommand): boolean {
  if (name !== 'branch') return false
  const operands = operandsOf(args, '-q -t --create-reflog --no-track --quiet --track') ?? []
  return operands.length === 1 || operands.length === 2
}

/** The directory of the worktree that a command of git adds, if all else stays as it is. */
export function addedWorktree(command: GitCommand, cwd: string): string | undefined {
  const { name, options } = command
  // Another option may start programs, as `-c` can.
  if (name !== 'worktree' || options.some(([each]) => each !== '-C')) return undefined
  const [added] = newDirectories(command) ?? []
  return added === undefined ? undefined : resolve(cwd, ...options.map(([, value]) => value), added)
}

/** The directory that a command makes, if all else stays as it is; undefined for every other command. */
function newDirectories({ name, args }: GitCommand): string[] | undefined {
  if (name === 'worktree' && args[0] === 'add') {
    const options = `-b= -d -q --checkout --detach --guess-remote --lock --no-checkout --no-guess-remote --no-track
      --quiet --reason= --track`
    return operandsOf(args.slice(1), options)?.slice(0, 1)
  }
  if (name === 'clone') {
    const options = `-b= -j= -l -n -o= -q -v --bare --branch= --depth= --filter= --jobs= --local --mirror --no-checkout
      --no-local --no-tags --origin= --progress --quiet --recurse-submodules --recursive --shallow-submodules
      --single-branch --sparse --verbose`
    // Without a second operand, git names the new directory itself, in the current one.
    return operandsOf(args, options)?.concat('', '').slice(1, 2)
  }
  if (name === 'init')
    return operandsOf(args, '-b= -q --bare --initial-branch= --quiet')?.concat('').slice(0, 1)
  return undefined
}

/** The operands, if all options are known; one that is listed with `=` has a value, perhaps the next word. */
function operandsOf(args: readonly string[], known: string): string[] | undefined {
  const options = new Set(known.split(/\s+/))
  const operands: string[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    const [name = ''] = word.split('=', 1)
    if (!word.startsWith('-')) operands.push(word)
    else if (options.has(`${name}=`)) at += word === name ? 1 : 0
    else if (!options.has(name)) return undefined
  }
  return operands
}
