import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { isWithin } from '../../base/fs/paths.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorMessage } from '../../base/errors/stint-error.ts'
import { agentTitle } from '../hosts/hosts.ts'
import { agentHome, allPlaces, isSettingsAgent, settingsPath } from './agents.ts'
import { findOnPath, programFile } from './own-program.ts'
import { inspect, type Installation, isShim, type Problem, unreadableBy } from './inspect.ts'
import { objectOr, parseToml, readSettingsJson } from './parse-settings.ts'
import { decode, readSettingsFile } from './settings-file.ts'
import { agentTargets, targetsToInspect } from './target.ts'
import { describeTrust, trustOf } from './codex-trust.ts'
import { describePath } from './shim.ts'
import { prepareGround, tryHook } from './trial.ts'

interface Finding {
  /** Reasons why the hooks do not work. */
  problems: Problem[]
  /** Reasons why they may not work, or could work better. */
  notes: Problem[]
}

/** An installation, and what is wrong with it. */
export type Examined = Installation & Finding & { wasTried: boolean }

interface Examination {
  /** Also look for git's hooks, which means to ask git where they are. */
  askGit: boolean
  /** An empty directory in which to run every hook; without one, none is run, and Codex is not asked. */
  trialIn?: string
}

/** Examines every installation that can be seen from a workspace. */
export async function examineInstalled(
  workspace: string,
  { askGit, trialIn }: Examination,
): Promise<Examined[]> {
  const targets = askGit ? targetsToInspect([], undefined, workspace) : agentTargets(workspace)
  const installed = targets.map(inspect).filter(({ state }) => state !== 'absent')
  if (trialIn === undefined || installed.length === 0)
    return installed.map((each) => ({ ...each, ...examine(each, workspace), wasTried: false }))
  const ground = await prepareGround(trialIn)
  const examined: Examined[] = []
  for (const each of installed) {
    const wasTried = isTriable(each, workspace)
    const unmet = isShim(each) ? describePath(each.path) : undefined
    const problem = wasTried ? ((await tryHook(each, ground)) ?? unmet) : undefined
    const finding = examine(each, workspace, problem)
    const trust = await trustOf(each, workspace)
    const obstacle = describeTrust(trust)
    if (obstacle !== undefined) (trust === 'unknown' ? finding.notes : finding.problems).push(obstacle)
    examined.push({ ...each, ...finding, wasTried })
  }
  return examined
}

/** Can a hook be tried: are its files there, its own, and not those of the project's authors? */
function isTriable(installation: Installation, workspace: string): boolean {
  if (['unreadable', 'edited'].includes(installation.state)) return false
  return describeMissing(installation) === undefined && findForeign(installation, workspace) === undefined
}

/** Finds out everything about one installation; `tried` is what a trial has found wrong with it. */
function examine(installation: Installation, workspace: string, tried?: string | Problem): Finding {
  const { agent, place, state, problem } = installation
  const option = isShim(installation) ? ' --shim' : place === 'user' || agent === 'git' ? '' : ` --${place}`
  const again = `stint hook install ${agent}${option}`
  if (state === 'unreadable')
    return { problems: [{ problem: problem ?? 'it cannot be read', fix: 'repair the file' }], notes: [] }
  const missing = describeMissing(installation)
  const foreign = missing === undefined ? findForeign(installation, workspace) : undefined
  const untried = foreign && `it starts a file of the project, which was therefore not tried: ${foreign}`
  const problems = [problem, missing, untried, tried].filter((text) => text !== undefined)
  return {
    problems: [
      ...problems.map((each) => (typeof each === 'string' ? { problem: each, fix: again } : each)),
      ...switchesOf(installation, workspace),
    ],
    notes: doublesOf(installation, workspace),
  }
}

/** Describes where else an agent has hooks of stint: it runs all of them, in twice the time for nothing. */
export function doublesOf(
  { agent, path }: Pick<Installation, 'agent' | 'path'>,
  workspace: string,
): Problem[] {
  // The guard of a repository and the shim before git see different commands.
  if (agent === 'git') return []
  const others = targetsToInspect([agent], undefined, workspace)
    .map(inspect)
    .filter((other) => other.commands.length > 0 && other.path !== path)
  const inFiles = others.map((other) => ({
    problem: `${agentTitle(agent)} runs the hooks in ${path} and those in ${other.path}: every hook runs twice`,
    fix: `remove those in one of the files, such as \`stint hook uninstall ${agent} --${other.place}\``,
  }))
  return agent === 'claude' ? [...inFiles, ...pluginsBeside(path, workspace)] : inFiles
}

/** The plugin for Claude Code has the same hooks. */
const pluginsBeside = (path: string, workspace: string): Problem[] =>
  allPlaces
    .flatMap((place) => settingsPath('claude', place, workspace) ?? [])
    .flatMap((file) => {
      const enabled = Object.entries(objectOr(readSettingsJson(file).enabledPlugins))
      const plugin = enabled.find(([name, on]) => name.startsWith('stint@') && on === true)
      if (plugin === undefined) return []
      return {
        problem: `${path} has hooks, and ${file} also enables the plugin ${plugin[0]}: every hook runs twice`,
        fix: 'disable the plugin, or `stint hook uninstall claude`',
      }
    })

/** A hook may outlive its program: a package manager removes a version, a project is cleaned. */
function describeMissing({ program }: Installation): string | undefined {
  const gone = program.find((word) => (isAbsolute(word) ? !existsSync(word) : findOnPath(word) === undefined))
  if (gone === undefined) return undefined
  return isAbsolute(gone) ? `it starts ${gone}, which does not exist` : `${gone} is not on PATH`
}

/**
 * The first of these files that belongs to the project, if project settings name them. Trying such a hook
 * would run code of the project's authors in a directory that the user may not trust yet.
 */
function findForeign({ agent, place, path, program }: Installation, workspace: string): string | undefined {
  if (place === 'user') return undefined
  const ownHook = realOf(programFile('stint-hook'))
  // Codex reads the settings of the checkout that a worktree was made from.
  const projects = agent === 'git' ? [workspace] : [workspace, dirname(dirname(path))]
  return program.find((file) => {
    const real = realOf((isAbsolute(file) ? file : findOnPath(file)) ?? '')
    const isStint = dirname(real) === dirname(ownHook) || real === realOf(process.execPath)
    return !isStint && projects.some((project) => isWithin(real, realOf(project)))
  })
}

const realOf = (path: string): string => (existsSync(path) ? realpathSync.native(path) : path)

/** Lists the settings that keep an agent from running installed hooks. */
function switchesOf({ agent, path }: Installation, workspace: string): Problem[] {
  if (!isSettingsAgent(agent)) return []
  const unreadable = unreadableBy(agent, readSettingsFile(path).bytes)
  const files = allPlaces.flatMap((place) => settingsPath(agent, place, workspace) ?? [])
  return [
    ...(unreadable === undefined ? [] : [{ problem: unreadable, fix: 'remove them' }]),
    ...[...new Set([path, ...files])].flatMap(switchesIn),
    ...(agent === 'claude' ? managedPaths.flatMap(managedOnly) : []),
    ...(agent === 'codex' ? codexSwitches(join(agentHome('codex'), 'config.toml')) : []),
  ]
}

/** `disableAllHooks` is a setting of Claude Code, Copilot and Qwen Code, `hooksConfig` one of Gemini CLI. */
function switchesIn(path: string): Problem[] {
  const { disableAllHooks, hooksConfig } = readSettingsJson(path)
  const { enabled, disabled } = objectOr(hooksConfig)
  const isOurs = (name: unknown): boolean => /^stint-|stint-hook/.test(String(name))
  const switches = [
    [disableAllHooks === true, 'switches all hooks off', '`disableAllHooks` there'],
    [enabled === false, 'switches hooks off', '`enabled: false` under hooksConfig'],
    [
      Array.isArray(disabled) && disabled.some(isOurs),
      'switches these hooks off',
      'them from hooksConfig.disabled',
    ],
  ] as const
  return switches.flatMap(([isOff, what, rest]) =>
    isOff ? [{ problem: `${path} ${what}`, fix: `remove ${rest}` }] : [],
  )
}

const managedPaths = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
]

const managedOnly = (path: string): Problem[] =>
  readSettingsJson(path).allowManagedHooksOnly === true
    ? [
        {
          problem: `${path} allows managed hooks only`,
          fix: 'ask the administrator of this machine to add them',
        },
      ]
    : []

function codexSwitches(file: string): Problem[] {
  const text = ifPossible(() => decode(readSettingsFile(file).bytes, '')) ?? ''
  try {
    const { hooks, codex_hooks } = objectOr(parseToml(text).features)
    // `codex_hooks` is the name that earlier versions of Codex use.
    if (hooks !== false && codex_hooks !== false) return []
    return [{ problem: `${file} switches hooks off`, fix: 'set `hooks = true` under [features]' }]
  } catch (error) {
    const problem = `${file} is not valid TOML (${errorMessage(error)})`
    return [{ problem, fix: 'repair it: Codex cannot read it' }]
  }
}
