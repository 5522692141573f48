import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { nextSteps } from '../../hook-install/next-steps.ts'
import { install } from '../../hook-install/install.ts'
import { targetsToInstall } from '../../hook-install/target.ts'
import { findWorkspace } from '../../lease/index.ts'
import { agentPositionals, dryRunOption, placeOptions, readAgents, readPlace } from './options.ts'
import { changeEach, type ChangesData, renderChanges } from './report.ts'

const options = {
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
  'fail-closed': {
    type: 'boolean',
    help: 'block tool calls when the hook itself fails, where the agent supports it',
  },
  record: { type: 'boolean', help: "record each tool call in the session's journal and audit log" },
  ...dryRunOption,
} as const satisfies OptionTable

export const installCommand = defineBareCommand({
  name: 'install',
  summary:
    'Makes agents ask before they change files in a workspace that another session may hold. Without a name: every agent you have.',
  positionals: agentPositionals,
  options,
  examples: [
    ['stint hook install', 'for every agent found, in your own settings'],
    ['stint hook install claude --project', "in this project's settings, for everyone"],
    ['stint hook install git', 'commits and branch changes in this repository, too'],
    ['stint hook install --dry-run', 'see the changes first'],
  ],
  async run({ warn, say }, { options, positionals }): Promise<ChangesData & { next: string[] }> {
    const { scope, hold, record, 'fail-closed': failClosed, 'dry-run': dryRun } = options
    const targets = targetsToInstall(readAgents(positionals), readPlace(options), findWorkspace().path)
    const warned = new Set<string>()
    const warnOnce = (message: string): void => {
      if (!warned.has(message)) warn(message)
      warned.add(message)
    }
    const chosen = { scope, hold, failClosed, record, dryRun, warn: warnOnce }
    const data = await changeEach(targets, { dryRun, say }, (target) => install(target, chosen))
    return { ...data, next: dryRun ? [] : nextSteps(targets) }
  },
  render: (data) => [renderChanges(data), ...data.next].join('\n'),
})
