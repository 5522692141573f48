import { defineBareCommand } from '../../command/define-command.ts'
import { installHooks, uninstallHooks } from '../install/install.ts'
import { describeTrust, trustOf } from '../install/codex-trust.ts'
import { doublesOf } from '../install/examine.ts'
import { pathLine } from '../install/shim.ts'
import { inspect } from '../install/inspect.ts'
import { type HookTarget, shimTarget, targetsToInspect, targetsToInstall } from '../install/target.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { findWorkspace } from '../../lease/index.ts'
import {
  agentPositionals,
  dryRunOption,
  placeOptions,
  readAgents,
  readPlace,
  readShim,
  shimOption,
} from './options.ts'
import { changeEach, type ChangesData, renderChanges, warnOnce } from './report.ts'

export const installCommand = defineBareCommand({
  name: 'install',
  summary:
    'Makes agents ask before they change files in a workspace that another session may hold. Without a name: every agent you have. Installing again keeps the options that you do not name.',
  positionals: agentPositionals,
  options: {
    ...placeOptions,
    scope: {
      type: 'string',
      choices: ['workspace', 'paths'],
      help: 'what a tool call claims: the whole workspace (the default), or only the files it edits',
    },
    hold: {
      type: 'string',
      choices: ['turn', 'session'],
      help: 'how long a session keeps its claim: to the end of its turn (the default), or to its own end',
    },
    subagents: {
      type: 'string',
      choices: ['together', 'apart'],
      help: 'whether subagents share the claim of their session (the default), or exclude each other',
    },
    wait: {
      type: 'duration',
      value: 'D',
      help: 'how long a tool call waits for another session before it is refused (20s); at most 10m, 0 for not at all',
    },
    'fail-closed': {
      type: 'boolean',
      help: 'block tool calls when the hook itself fails, where the agent supports it',
    },
    record: { type: 'boolean', help: "record each tool call in the session's journal and audit log" },
    'no-prompts': {
      type: 'boolean',
      help: 'do not show other sessions the first words of the prompt that a session works on',
    },
    'no-undo': { type: 'boolean', help: 'take no restore points: `stint undo` has nothing to go back to' },
    ...shimOption,
    ...dryRunOption,
  },
  examples: [
    ['stint hook install', 'for every agent found, in your own settings'],
    ['stint hook install claude --project', "in this project's settings, for everyone"],
    [
      'stint hook install claude --scope paths --subagents apart',
      'subagents exclude each other, file by file',
    ],
    ['stint hook install --wait 0', 'refuse tool calls at once instead of letting them wait'],
    ['stint hook install git', 'commits, merges and pushes in this repository, too'],
    ['stint hook install git --shim', 'a `git` for your PATH that asks before git starts'],
    ['stint hook install --dry-run', 'see the changes first'],
  ],
  async run(
    { warn, say, screen },
    { options, positionals },
  ): Promise<ChangesData<'hooks'> & { next: string[] }> {
    const { scope, hold, subagents, 'dry-run': dryRun } = options
    const agents = readAgents(positionals)
    const targets = readShim(agents, options)
      ? [shimTarget()]
      : targetsToInstall(agents, readPlace(options), findWorkspace().path)
    const warnEach = warnOnce(warn)
    const choices = {
      scope,
      hold,
      subagents,
      waitMs: readWait(options.wait),
      failClosed: options['fail-closed'] || undefined,
      record: options.record || undefined,
      prompts: options['no-prompts'] ? false : undefined,
      undo: options['no-undo'] ? false : undefined,
    }
    const chosen = { ...choices, dryRun, warn: warnEach }
    const data = changeEach(targets, { list: 'hooks', dryRun, say, screen }, (target) =>
      installHooks(target, chosen),
    )
    const workspace = findWorkspace().path
    if (!dryRun)
      for (const { problem, fix } of targets.flatMap((target) => doublesOf(target, workspace)))
        warnEach(`${problem}; ${fix}`)
    if (dryRun) return { ...data, next: [] }
    const trust = await Promise.all(targets.map((target) => trustStep(target, workspace)))
    const forVsCode = positionals.includes('vscode') ? [vsCodeReads] : []
    return { ...data, next: [...forVsCode, ...trust.flat(), ...nextSteps(targets)] }
  },
  render: ({ hooks, dry_run, next }, { columns }) => renderChanges(hooks, dry_run, columns, next),
})

/** A call that waits for longer looks as if its agent had hung, and agents limit the time of their hooks. */
const maxWaitMs = 10 * 60_000

function readWait(waitMs: number | undefined): number | undefined {
  if (waitMs !== undefined && waitMs > maxWaitMs)
    throw new StintError('ARG_ERROR', '--wait must be at most 10m')
  return waitMs
}

const vsCodeReads = "VS Code runs the hooks in Claude Code's settings (`chat.hookFilesLocations`)."

/** What the user must do before Codex runs the hooks; an option that has changed makes it ask again. */
async function trustStep(target: HookTarget, workspace: string): Promise<string[]> {
  const obstacle = describeTrust(await trustOf(inspect(target), workspace))
  return obstacle === undefined ? [] : [`${obstacle.problem}: ${obstacle.fix}.`]
}

const gitHooksAlone =
  "git's hooks alone cannot stop `checkout`, `restore`, `clean` or `stash pop`: `stint hook install git --shim` can."

/** The steps that are left to the user after an installation. */
function nextSteps(targets: readonly HookTarget[]): string[] {
  const agents = new Set(targets.map(({ agent }) => agent))
  return [
    ...(agents.has('git') ? [] : ['`stint hook install git` guards the commits of a repository, too.']),
    ...(targets.some(({ kind }) => kind === 'git') ? [gitHooksAlone] : []),
    ...targets.flatMap(({ kind, path }) =>
      kind === 'shim' ? [`Put it before git, in the profile of your shell: ${pathLine(path)}`] : [],
    ),
    '`stint doctor` shows that they work.',
  ]
}

export const uninstallCommand = defineBareCommand({
  name: 'uninstall',
  summary:
    'Removes the hooks wherever they are: in your own settings, in those of this project, in this repository.',
  positionals: agentPositionals,
  options: { ...placeOptions, ...shimOption, ...dryRunOption },
  examples: [
    ['stint hook uninstall', 'all hooks that can be seen from here'],
    ['stint hook uninstall git', 'only the guard of this repository'],
    ['stint hook uninstall git --shim', 'only the `git` for your PATH'],
  ],
  async run({ say, screen }, { options, positionals }): Promise<ChangesData<'hooks'>> {
    const dryRun = options['dry-run']
    const workspace = findWorkspace().path
    const agents = readAgents(positionals)
    const isOnlyShim = readShim(agents, options)
    const targets = targetsToInspect(agents, readPlace(options), workspace).filter(
      ({ kind }) => agents.length === 0 || (kind === 'shim') === isOnlyShim,
    )
    const data = changeEach(targets, { list: 'hooks', dryRun, say, screen }, (target) =>
      uninstallHooks(target, dryRun),
    )
    return { ...data, hooks: data.hooks.filter(({ outcome }) => outcome !== 'absent') }
  },
  render: ({ hooks, dry_run }, { columns }) =>
    hooks.length === 0 ? 'no hooks of stint are installed here' : renderChanges(hooks, dry_run, columns),
})
