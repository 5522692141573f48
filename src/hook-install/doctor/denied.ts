import type { AgentName } from '../../hook/hosts.ts'
import { parseObject } from '../../base/text/fields.ts'
import { objectOr } from '../json/parse.ts'

/** How a hook that an agent has started has ended. */
export interface Ended {
  /** Null if it did not end by itself. */
  code: number | null
  stdout: string
  stderr: string
}

/** Would the agent refuse the call? By what it is documented to make of exit code and answer. */
export function isDenied(agent: AgentName, { code, stdout, stderr }: Ended): boolean {
  if (agent === 'git') return code !== 0
  if (agent === 'opencode') return code === 2
  const said = parseObject(stdout) ?? {}
  const output = objectOr(said.hookSpecificOutput)
  if (code === 2) return stderr.trim() !== ''
  if (agent === 'copilot' && code !== 0) return true
  if (agent === 'gemini') return said.decision === 'deny' || ((code ?? 0) > 2 && stdout + stderr !== '')
  if (agent === 'cursor') return code === 0 && said.permission === 'deny'
  if (agent === 'copilot') return said.permissionDecision === 'deny'
  return output.permissionDecision === 'deny'
}
