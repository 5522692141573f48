import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { realPathOf } from '../base/fs/canonical-path.ts'
import { isWithin } from '../base/fs/paths.ts'
import { fileClaim, isOutside, type Workspace, workspaceOf } from '../lease/index.ts'
import { leadingGit } from './reading/only-reads.ts'
import type { HookEvent, Tool } from './event.ts'
import { addedWorktree, parseGitCommand } from './git-command.ts'
import type { Scope } from './options.ts'

/** A workspace that a tool call changes, and the paths in it that the call must hold. */
export interface CallTarget {
  workspace: Workspace
  paths: readonly string[]
  /** The call may change any file, but claims none: only a claim on all of the workspace is in its way. */
  claimsNothing?: true
}

type Environment = NodeJS.ProcessEnv

/** Returns the workspaces and paths that a call needs, by key; none if no session can hold its files. */
export function callTargets(
  { cwd = process.cwd() }: Pick<HookEvent, 'cwd'>,
  tool: Tool,
  scope: Scope,
  env: Environment,
): CallTarget[] {
  const isShell = tool.use === 'shell'
  const directories = commandDirectories(tool, cwd, env)
  const [directory = cwd] = directories
  // Codex reports a patch as a command, if its model writes `apply_patch <<'EOF'`, and applies it itself.
  const files = isShell ? patchedFiles(String(tool.input.command)) : touchedPaths(tool)
  const targets = files.flatMap((file) => fileTarget(resolve(directory, file), scope, env))
  if (isShell || files.length === 0)
    for (const each of directories) targets.push(...directoryTarget(each, isShell ? scope : 'workspace', env))
  return mergeTargets(targets)
}

/** The claim of an edited file. Outside of all repositories it is the file alone, whatever the scope. */
function fileTarget(file: string, scope: Scope, env: Environment): CallTarget[] {
  if (isOwnOfAgent(file, env)) return []
  const { workspace, path } = fileClaim(file)
  return [{ workspace, paths: scope === 'paths' || isOutside(workspace) ? [path] : workspace.whole }]
}

/** The claim of a command, or of an edit whose files are not known: all of the workspace. */
function directoryTarget(directory: string, scope: Scope, env: Environment): CallTarget[] {
  if (isOwnOfAgent(directory, env) || isEverybodys(directory, env)) return []
  const workspace = workspaceOf(directory)
  if (scope === 'workspace') return [{ workspace, paths: workspace.whole }]
  return [{ workspace, paths: workspace.whole, claimsNothing: true }]
}

/** One target for each workspace, or for each path outside of all repositories. */
function mergeTargets(targets: readonly CallTarget[]): CallTarget[] {
  const byKey = new Map<string, CallTarget>()
  for (const target of targets) {
    const { workspace, paths } = target
    const name = isOutside(workspace) ? `${workspace.key} ${paths[0]}` : workspace.key
    const before = byKey.get(name)
    if (before === undefined || before.claimsNothing) byKey.set(name, target)
    else if (!target.claimsNothing) byKey.set(name, { ...target, paths: union(before.paths, paths) })
  }
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target)
}

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])]

/** The home, what is above it, and temp directories: a claim on one of them would hold everybody's files. */
function isEverybodys(directory: string, { HOME, TMPDIR }: Environment): boolean {
  const real = realPathOf(directory)
  const temporary = [TMPDIR, '/tmp', '/var/tmp'].some(
    (path) => path !== undefined && realPathOf(path) === real,
  )
  return temporary || (HOME !== undefined && isAbsolute(HOME) && isWithin(realPathOf(HOME), real))
}

/** The directories below the home in which agents keep their own files, such as plans and notes. */
const agentDirectories =
  '.claude .codex .cursor .copilot .gemini .qwen .config/opencode .local/share/opencode'
const agentVariables = ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'COPILOT_HOME', 'QWEN_HOME']

/** Whether a path is in the directory of an agent's own files, but in no repository below it. */
function isOwnOfAgent(path: string, env: Environment): boolean {
  const inVariables = agentVariables.map((name) => env[name] ?? '')
  const usual = env.HOME ? agentDirectories.split(' ').map((name) => join(env.HOME ?? '', name)) : []
  const directories = [...inVariables, ...usual].filter(
    (directory) => isAbsolute(directory) && existsSync(directory),
  )
  if (directories.length === 0) return false
  const real = realPathOf(path)
  const around = directories.map(realPathOf).find((directory) => isWithin(real, directory))
  if (around === undefined) return false
  const workspace = workspaceOf(path)
  return isOutside(workspace) || workspace.path === around || !isWithin(workspace.path, around)
}

/** A word of a shell that stands for itself, perhaps in quotes. */
const literalWord = String.raw`('[^']*'|"[^"$\`\\]*"|[\w@%+=:,./~-]+)`
/** What ends a `cd`. Behind `|| exit`, as behind `&&`, the command goes on only in its directory. */
const endOfCd = String.raw`(?:2>[ \t]*/dev/null[ \t]*)?(&&|\|\|[ \t]*exit\b[ \t]*\d*[ \t]*[;\n]|;|\n)\s*`
const leadingCd = new RegExp(String.raw`^cd[ \t]+(?:--[ \t]+)?${literalWord}[ \t]*${endOfCd}`)
const leadingGitDirectory = new RegExp(String.raw`^git[ \t]+-C[ \t]+${literalWord}[ \t]+`)

/** The fields in which tools name the directory of a command: Gemini CLI and Qwen Code, OpenCode, Cursor. */
const directoryFields = ['dir_path', 'directory', 'workdir', 'working_directory']

/**
 * The directories that a command belongs to. The first is the agent's, or the one of a literal `cd DIR &&`,
 * `cd DIR || exit`, `cd DIR;` or `git -C DIR` with which it begins. The agent's is the second, if the command
 * may come back to it: behind that git, or by another `cd`. Other paths in a command are not followed.
 */
export function commandDirectories(tool: Pick<Tool, 'input'>, cwd: string, env: Environment): string[] {
  const { command } = tool.input
  const named = directoryFields.map((field) => tool.input[field]).find((value) => typeof value === 'string')
  const start = resolve(cwd, named ?? '')
  let directory = start
  let behind = /\b(?:cd|popd)\b/
  let rest = typeof command === 'string' ? command.trimStart() : ''
  for (;;) {
    const [all, word, separator] = leadingCd.exec(rest) ?? leadingGitDirectory.exec(rest) ?? []
    if (all === undefined || word === undefined) break
    const next = resolve(directory, withoutQuotes(word, env))
    // After a `cd` that fails, `;` goes on in the same directory.
    const mayFail = separator === ';' || separator === '\n'
    if (!mayFail || existsSync(`${next}/.`)) directory = next
    if (separator === undefined) behind = /[;&|\n]/
    rest = rest.slice(all.length)
  }
  const comesBack = directory !== start && behind.test(rest.replaceAll(/'[^']*'|"[^"]*"/g, ''))
  return comesBack ? [directory, start] : [directory]
}

const withoutQuotes = (word: string, { HOME = '~' }: Environment): string =>
  /^['"]/.test(word) ? word.slice(1, -1) : word.replace(/^~(?=\/|$)/, HOME)

/** Whether a command only adds a worktree outside of every repository, as a refusal advises. */
export function addsWorktreeElsewhere(command: string, cwd: string = process.cwd()): boolean {
  if (!command.includes(' worktree add ')) return false
  const words = leadingGit(command)
  const worktree = words && addedWorktree(parseGitCommand(words), cwd)
  return worktree !== undefined && isOutside(workspaceOf(worktree))
}

/** The fields in which the tools of all hosts name a file or directory that they change. */
const pathFields = [
  'file_path',
  'notebook_path',
  'path',
  'filePath',
  'dirPath',
  'absolute_path',
  'target_file',
  'target_notebook',
]

/** The fields in which tools list files, or edits that each name one. */
const listFields = ['files', 'filePaths', 'replacements', 'edits']

/** The fields in which tools take a patch. */
const patchFields = ['command', 'input', 'patch', 'patchText']

/** The files that an edit names: one, those of a list, or every file of its patch. Empty if none is known. */
export function touchedPaths({ input }: Pick<Tool, 'input'>): string[] {
  const lists = listFields.flatMap((field) =>
    Array.isArray(input[field]) ? (input[field] as unknown[]) : [],
  )
  const items = [input, ...lists].flatMap((item) => pathsOf(item))
  const paths = [...items, ...lists.filter((item) => typeof item === 'string')].filter((path) => path !== '')
  if (paths.length > 0) return [...new Set(paths)]
  for (const field of patchFields) {
    const value = input[field]
    const files = typeof value === 'string' ? patchedFiles(value) : []
    if (files.length > 0) return files
  }
  return []
}

const pathsOf = (item: unknown): string[] =>
  typeof item === 'object' && item !== null
    ? pathFields.flatMap((field) => {
        const value = (item as Record<string, unknown>)[field]
        return typeof value === 'string' ? value : []
      })
    : []

/** Codex takes blanks before a header. */
const patchHeader = /^\s*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** The files of a patch with a header such as `*** Update File: NAME` for each. */
const patchedFiles = (patch: string): string[] => [
  ...new Set([...patch.matchAll(patchHeader)].map(([, file = '']) => file.trim())),
]
