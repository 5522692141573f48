import { md5 } from '../../base/text/md5.ts'
import type { NewAudit, NewEvent } from '../../session/index.ts'
import type { HookEvent } from '../event.ts'
import { hosts } from '../hosts/hosts.ts'
import { touchedPaths } from '../call-target.ts'
import type { Verdict } from '../verdict.ts'

/** The records of one event for the session's journal and audit log. The largest field comes last. */
export interface CallRecords {
  audit: NewAudit
  event: NewEvent
}

/** The records of a call before it runs (intent, refusal) or after (outcome); undefined for other events. */
export function callRecords(event: HookEvent, verdict: Verdict, at: Date): CallRecords | undefined {
  const { tool, kind } = event
  if (tool === undefined || tool.use === 'none' || (kind !== 'pre' && kind !== 'post')) return undefined
  const act = event.callId ?? actOf(event)
  const what = { agent: event.host, tool: tool.name, call: act, at: at.toISOString(), cwd: event.cwd }
  const about = { action: `tool.${tool.use}`, subject: subjectOf(event), act }
  if (kind === 'post') {
    const { failure } = event
    const ok = failure === undefined
    return {
      audit: { ...about, phase: 'outcome', ok },
      event: { type: 'tool.result', data: { ...what, ok, ...failure } },
    }
  }
  if (verdict.block)
    return {
      audit: { action: 'tool.denied', subject: about.subject, detail: { call: act, reason: verdict.reason } },
      event: { type: 'tool.denied', data: { ...what, reason: verdict.reason, input: tool.input } },
    }
  return {
    audit: { ...about, phase: 'intent', detail: { agent: event.host, tool: tool.name } },
    event: { type: 'tool.call', data: { ...what, input: tool.input } },
  }
}

/** An id for a call of a host that gives none, the same before and after the call. */
const actOf = ({ tool }: HookEvent): string =>
  md5(`${tool?.name} ${JSON.stringify(tool?.input)}`).slice(0, 16)

function subjectOf({ host, tool }: HookEvent): string {
  const { command } = tool?.input ?? {}
  const [file] = tool === undefined || tool.use !== 'edit' ? [] : touchedPaths(tool)
  const what = file ?? (typeof command === 'string' ? command : undefined)
  return what === undefined ? `${hosts[host].title}: ${tool?.name}` : `${tool?.name}: ${what}`
}
