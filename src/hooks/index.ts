// The door of the hooks: other rooms import from here only.
export type { AgentName } from './hosts/host.ts'
export { agentTitle, hosts, isHostName } from './hosts/hosts.ts'
export { agentHome, agentPrograms, allAgents, hasAgent } from './install/agents.ts'
export { type Change, installPart, type SettingsPart, uninstallPart } from './install/change.ts'
export { forgetCodexTrust, readCodexTrust, type WrittenTrust } from './install/codex-trust-file.ts'
export type { Examined } from './install/examine.ts'
export { type Problem, unreadableBy } from './install/inspect.ts'
export { installHooks, uninstallHooks } from './install/install.ts'
export { removeProperty, setProperty } from './install/json-edit.ts'
export { findOnPath, ownProgram } from './install/own-program.ts'
export { hasComment, objectOr, parseJson, parseToml, propertyOf } from './install/parse-settings.ts'
export { decode, readSettingsFile } from './install/settings-file.ts'
export { agentTargets, type HookTarget, targetsToInspect, targetsToInstall } from './install/target.ts'
export { sweepPasses } from './pass.ts'
export { reapers } from './session-party.ts'
export {
  type AgentSession,
  agentSessions,
  isBelowAgent,
  promptedSessions,
  sweepPrompts,
} from './session-prompt.ts'

/** Loads what tries the installed hooks. */
export const loadExamination = () => import('./install/examine.ts')
