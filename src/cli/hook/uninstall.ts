import { defineBareCommand } from '../../command/define-command.ts'
import { targetsToLookAt } from '../../hook-install/target.ts'
import { uninstall } from '../../hook-install/uninstall.ts'
import { findWorkspace } from '../../lease/index.ts'
import { agentPositionals, dryRunOption, placeOptions, readAgents, readPlace } from './options.ts'
import { changeEach, type ChangesData, renderChanges } from './report.ts'

export const uninstallCommand = defineBareCommand({
  name: 'uninstall',
  summary:
    'Removes the hooks wherever they are: in your own settings, in those of this project, in this repository.',
  positionals: agentPositionals,
  options: { ...placeOptions, ...dryRunOption },
  examples: [
    ['stint hook uninstall', 'all that can be seen from here'],
    ['stint hook uninstall git', 'only the guard of this repository'],
  ],
  async run({ say }, { options, positionals }): Promise<ChangesData> {
    const dryRun = options['dry-run']
    const workspace = findWorkspace().path
    const targets = targetsToLookAt(readAgents(positionals), readPlace(options), workspace)
    const data = await changeEach(targets, { dryRun, say }, (target) =>
      uninstall(target, { dryRun, workspace }),
    )
    return { ...data, hooks: data.hooks.filter(({ outcome }) => outcome !== 'absent') }
  },
  render: (data) => (data.hooks.length === 0 ? 'no hooks of stint are installed here' : renderChanges(data)),
})
