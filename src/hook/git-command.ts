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
 * `--git-dir` or a variable names another. As in git, an option counts more than a variable.
 */
export function gitDirectories({ options }: GitCommand, cwd: string, env: NodeJS.ProcessEnv): string[] {
  const last = (name: string): string | undefined => options.findLast(([each]) => each === name)?.[1]
  const from = options.reduce((at, [name, value]) => (name === '-C' ? resolve(at, value) : at), cwd)
  const tree = last('--work-tree') ?? env.GIT_WORK_TREE
  const repository = last('--git-dir') ?? env.GIT_DIR
  return [
    resolve(from, tree ?? ''),
    ...(repository === undefined ? [] : [dirname(resolve(from, repository))]),
  ]
}
