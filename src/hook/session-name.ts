import { isSessionId } from '../base/text/id.ts'
import type { Identity } from '../base/process/liveness.ts'
import { md5 } from '../base/text/md5.ts'
import type { AgentName } from './hosts.ts'

/** The session a claim is in the name of: the host's own id, if it can be one. */
export function sessionName(given: string | undefined, host: AgentName, agent: Identity | null): string {
  if (given === undefined)
    return agent === null ? `${host}-unknown` : `${host}-${agent.pid}-${agent.started ?? 0}`
  if (isSessionId(given)) return given
  // No two ids may become one name.
  return `${host}-${given.replaceAll(/[^\w.-]/g, '_').slice(0, 60)}-${md5(given).slice(0, 12)}`
}
