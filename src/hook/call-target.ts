import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import {
  claimPaths,
  findWorkspace,
  isInWorkspace,
  type NewCall,
  type PassAddition,
  wholeWorkspace,
  type Workspace,
} from '../lease/index.ts'
import { leadingGit } from '../reading/index.ts'
import type { SecretGate } from '../secrets/index.ts'
import type { HookEvent, Tool } from './event.ts'
import { addedWorktree, parseGitCommand } from './git-command.ts'
import { hosts } from './hosts.ts'
import type { Scope } from './options.ts'

/** The workspace that a tool call changes, and the paths in it that the call must hold. */
export interface CallTarget {
  workspace: Workspace
  /** `anything`: the call may change any file, but claims none. */
  needs: readonly string[] | 'anything'
}

export function findCallTarget(
  { cwd = process.cwd() }: Pick<HookEvent, 'cwd'>,
  tool: Tool,
  scope: Scope,
): CallTarget {
  const here = findWorkspace(cwd)
  const files = tool.use === 'edit' ? touchedPaths(tool) : []
  const [first] = files
  if (first === undefined) return { workspace: here, needs: scope === 'paths' ? 'anything' : wholeWorkspace }
  const inside = scope === 'paths' ? pathsIn(here, files, cwd) : wholeIfInside(here, files, cwd)
  if (inside !== undefined) return { workspace: here, needs: inside }
  const there = repositoryAround(resolve(cwd, first)) ?? here
  const needs = scope === 'paths' ? (pathsIn(there, files, cwd) ?? 'anything') : wholeWorkspace
  return { workspace: there, needs }
}

/** What a granted call adds to the pass of its session; undefined if the script could not check it. */
export function passAddition(
  { cwd = '' }: Pick<HookEvent, 'cwd'>,
  tool: Tool,
  { path: root, key }: Workspace,
  scope: Scope,
): PassAddition | undefined {
  const isReal = (path: string): boolean => ifPossible(() => realpathSync.native(path)) === path
  const isRepository = existsSync(join(root, '.git'))
  if (!isReal(cwd) || (cwd !== root && !isRepository)) return undefined
  const files = tool.use === 'edit' ? touchedPaths(tool).map((file) => resolve(cwd, file)) : []
  const real = files.filter((file) => isReal(dirname(file)))
  const edits = scope === 'paths' ? real : real.map((file) => dirname(file))
  return { key, scope, root, isRepository, directories: [cwd], edits }
}

/** The whole workspace; undefined if any of the files is outside. */
const wholeIfInside = ({ path }: Workspace, files: readonly string[], cwd: string) =>
  files.every((file) => isInWorkspace(path, resolve(cwd, file))) ? wholeWorkspace : undefined

/** The paths relative to the workspace; undefined if any of them is outside. */
function pathsIn({ path }: Workspace, files: readonly string[], cwd: string): string[] | undefined {
  try {
    return claimPaths(path, files, cwd)
  } catch (error) {
    if (error instanceof StintError && error.code === 'NAME_INVALID') return undefined
    throw error
  }
}

/**
 * Whether a command only adds a worktree outside of every repository, which a refusal advises: it changes no
 * file that another session could hold.
 */
export function addsWorktreeElsewhere(command: string, cwd: string = process.cwd()): boolean {
  if (!command.includes(' worktree add ')) return false
  const words = leadingGit(command)
  const added = words && addedWorktree(parseGitCommand(words), cwd)
  return added !== undefined && repositoryAround(added) === undefined
}

/**
 * The repository that contains a file, which need not be the one that the agent was started in. A file
 * outside every repository, such as a note in /tmp, counts as part of the agent's own workspace.
 */
function repositoryAround(file: string): Workspace | undefined {
  let directory = dirname(file)
  while (!existsSync(directory)) directory = dirname(directory)
  const workspace = findWorkspace(directory)
  return existsSync(join(workspace.path, '.git')) ? workspace : undefined
}

/** The fields in which the tools of all hosts name the file they change. */
const pathFields = [
  'file_path',
  'notebook_path',
  'path',
  'filePath',
  'absolute_path',
  'target_file',
  'target_notebook',
]

/** The fields in which tools take a patch. */
const patchFields = ['command', 'input', 'patch', 'patchText']

/** The files that an edit names: one, or every file of its patch. Empty if it names none. */
export function touchedPaths({ input }: Pick<Tool, 'input'>): string[] {
  for (const field of pathFields) {
    const value = input[field]
    if (typeof value === 'string' && value !== '') return [value]
  }
  for (const field of patchFields) {
    const value = input[field]
    const files = typeof value === 'string' ? patchedFiles(value) : []
    if (files.length > 0) return files
  }
  return []
}

const patchHeader = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** The files of a patch with a header such as `*** Update File: NAME` for each. */
const patchedFiles = (patch: string): string[] => [
  ...new Set([...patch.matchAll(patchHeader)].map(([, file = '']) => file.trim())),
]

/**
 * Describes a call in a few words, for a session that is refused because of it. Of a command, only the
 * model's description or the first word is shown: the rest may contain a password. The gate removes secrets
 * before the text is cut: it does not find half of one.
 */
export function purposeOf({ host, tool }: Pick<HookEvent, 'host' | 'tool'>, gate: SecretGate): string {
  const { title } = hosts[host]
  if (tool === undefined) return title
  const [file] = tool.use === 'edit' ? touchedPaths(tool) : []
  const what = file ?? describe(tool.input)
  const name = gate.text(tool.name)
  return `${title}: ${name}${what === undefined ? '' : ` ${gate.text(what).replaceAll(/\s+/g, ' ').slice(0, 120)}`}`
}

function describe({ description, command }: Record<string, unknown>): string | undefined {
  if (typeof description === 'string' && description.trim() !== '') return `(${description.trim()})`
  return programOf(command)
}

/** The first word of a command, if it is plain: an assignment before it may be a password. */
function programOf(command: unknown): string | undefined {
  const [first = ''] = typeof command === 'string' ? command.trim().split(/\s/, 1) : []
  return /^[\w./-]{1,40}$/.test(first) ? first : undefined
}

/** What a call is, without secrets, for a session that finds it running. */
export function describeCall(tool: Tool, gate: SecretGate): Omit<NewCall, 'id'> {
  const [file] = tool.use === 'edit' ? touchedPaths(tool) : []
  const name = file ?? programOf(tool.input.command)
  return {
    kind: tool.use === 'edit' ? 'edit' : 'command',
    ...(name !== undefined && { name: basename(gate.text(name)).slice(0, 60) }),
  }
}
