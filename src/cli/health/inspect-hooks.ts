import { examine } from '../../hook-install/doctor/examine.ts'
import { inspect } from '../../hook-install/inspect.ts'
import { agentTargets, targetsToInspect } from '../../hook-install/target.ts'
import type { HookHealth } from './hooks.ts'

/** Every installation that can be seen from a workspace, with what is wrong with it. */
export function inspectHooks(workspace: string, askGit: boolean): HookHealth[] {
  const targets = [
    ...agentTargets(workspace),
    ...(askGit ? targetsToInspect(['git'], undefined, workspace) : []),
  ]
  const installed = targets.map(inspect).filter(({ state }) => state !== 'absent')
  return installed.map((installation) => {
    const { agent, place, path, state } = installation
    return { agent, place, path, state, ...examine(installation, workspace) }
  })
}
