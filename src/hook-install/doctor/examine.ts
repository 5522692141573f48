import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isWithin } from '../../base/fs/paths.ts'
import { findOnPath, programFile } from '../own-program.ts'
import { inspect, type Installation, isShim } from '../inspect.ts'
import { readSettingsFile } from '../settings/settings-file.ts'
import { agentTargets, targetsToInspect } from '../target.ts'
import { doublesOf } from './doubles.ts'
import { switchesOf } from './switches.ts'

export interface Problem {
  problem: string
  /** The command or action that solves it. */
  fix: string
}

export interface Finding {
  /** Reasons why the hooks do not work. */
  problems: Problem[]
  /** Reasons why they may not work, or could work better. */
  notes: Problem[]
}

/** Can a hook be tried: are its files there, its own, and not those of the project's authors? */
export function isTriable(installation: Installation, workspace: string): boolean {
  if (['unreadable', 'lost', 'edited'].includes(installation.state)) return false
  const files = filesOf(installation)
  return describeMissing(files) === undefined && findForeign(installation, files, workspace) === undefined
}

/** Finds out everything about one installation; `tried` is what a trial has found wrong with it. */
export function examine(installation: Installation, workspace: string, tried?: string | Problem): Finding {
  const { agent, place, state, problem } = installation
  const option = isShim(installation) ? ' --shim' : place === 'user' || agent === 'git' ? '' : ` --${place}`
  const again = `stint hook install ${agent}${option}`
  if (state === 'unreadable')
    return { problems: [{ problem: problem ?? 'it cannot be read', fix: 'repair the file' }], notes: [] }
  if (state === 'lost') return { problems: [{ problem: problem ?? '', fix: again }], notes: [] }
  const files = filesOf(installation)
  const missing = describeMissing(files)
  const foreign = missing === undefined ? findForeign(installation, files, workspace) : undefined
  const untried = foreign && `it starts a file of the project, which was therefore not tried: ${foreign}`
  const switches = switchesOf(installation, workspace)
  const switched = (kind: 'off' | 'ask'): Problem[] =>
    switches.flatMap(({ state, problem, fix }) => (state === kind ? [{ problem, fix }] : []))
  const problems = [problem, missing, untried, tried].filter((text) => text !== undefined)
  return {
    problems: [
      ...problems.map((each) => (typeof each === 'string' ? { problem: each, fix: again } : each)),
      ...switched('off'),
    ],
    notes: [...switched('ask'), ...doublesOf(installation, workspace)],
  }
}

/** Examines every installation that can be seen from a workspace; git's hooks only if git is to be asked. */
export function examineInstalled(workspace: string, askGit: boolean): (Installation & Finding)[] {
  const targets = askGit ? targetsToInspect([], undefined, workspace) : agentTargets(workspace)
  const installed = targets.map(inspect).filter(({ state }) => state !== 'absent')
  return installed.map((installation) => ({ ...installation, ...examine(installation, workspace) }))
}

/** The files that a hook starts or loads. */
const filesOf = ({ agent, path, program }: Installation): readonly string[] =>
  agent === 'opencode' ? importsOf(readSettingsFile(path).bytes?.toString() ?? '') : program

/** A hook may outlive its program: a package manager removes a version, a project is cleaned. */
function describeMissing(files: readonly string[]): string | undefined {
  const gone = files.find((word) => (isAbsolute(word) ? !existsSync(word) : findOnPath(word) === undefined))
  if (gone === undefined) return undefined
  return isAbsolute(gone) ? `it starts ${gone}, which does not exist` : `${gone} is not on PATH`
}

const importsOf = (text: string): string[] =>
  [...text.matchAll(/"(file:[^"]+)"/g)].flatMap(([, url = '']) => {
    try {
      return [fileURLToPath(url)]
    } catch {
      // The URL was edited, which `inspect` reports.
      return []
    }
  })

/**
 * The first of these files that belongs to the project, if project settings name them. Trying such a hook
 * would run code of the project's authors in a directory that the user may not trust yet.
 */
function findForeign(
  { agent, place, path }: Pick<Installation, 'agent' | 'place' | 'path'>,
  files: readonly string[],
  workspace: string,
): string | undefined {
  if (place === 'user') return undefined
  const own = realOf(programFile('stint-hook'))
  // Codex reads the settings of the checkout that a worktree was made from.
  const projects = agent === 'git' ? [workspace] : [workspace, dirname(dirname(path))]
  return files.find((file) => {
    const real = realOf((isAbsolute(file) ? file : findOnPath(file)) ?? '')
    const isStint = dirname(real) === dirname(own) || real === realOf(process.execPath)
    return !isStint && projects.some((project) => isWithin(real, realOf(project)))
  })
}

const realOf = (path: string): string => (existsSync(path) ? realpathSync.native(path) : path)
