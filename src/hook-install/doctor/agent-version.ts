import { runProgram } from '../../base/process/run-program.ts'
import type { HostName } from '../../hook/host.ts'
import { hosts } from '../../hook/hosts.ts'
import { findOnPath } from '../own-program.ts'
import { hostSettings, isSettingsAgent } from '../host-settings.ts'
import type { Problem } from './examine.ts'
import { trialEnv, type TrialGround } from './trial.ts'

/** The newest version of each agent whose events were checked; Cursor's documentation names none. */
export const checkedVersions: Readonly<Partial<Record<HostName, string>>> = {
  claude: '2.1.325',
  codex: '0.166.0',
  copilot: '1.0.102',
  gemini: '0.61.0',
  qwen: '0.24.4',
  opencode: '1.18.34',
}

/** A note about an installed agent that is newer than the version whose events were checked. */
export async function newerThanChecked(agent: HostName, ground: TrialGround): Promise<Problem[]> {
  const checked = checkedVersions[agent]
  const variable = isSettingsAgent(agent) ? hostSettings[agent].variable : undefined
  // Some agents write into their own directory at every start, even for --version.
  const env = { ...trialEnv(ground), ...(variable && { [variable]: ground.home }) }
  const program = checked === undefined ? undefined : findOnPath(agent, env)
  if (checked === undefined || program === undefined) return []
  const { stdout } = await runProgram(program, ['--version'], { cwd: ground.free, env, timeoutMs: 5000 })
  const [installed] = /\d+\.\d+\.\d+/.exec(stdout) ?? []
  if (installed === undefined || !isNewer(installed, checked)) return []
  const problem = `the hooks were checked with ${hosts[agent].title} ${checked}, yours is ${installed}`
  return [{ problem, fix: 'tools that are new in it are not guarded; update stint' }]
}

/** Compares versions such as 2.1.325, number by number. */
export function isNewer(version: string, than: string): boolean {
  const [ours, theirs] = [version, than].map((text) => text.split('.').map(Number))
  const at = ours?.findIndex((number, index) => number !== theirs?.[index]) ?? -1
  return at >= 0 && (ours?.[at] ?? 0) > (theirs?.[at] ?? 0)
}
