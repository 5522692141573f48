import { stintHome } from '../base/fs/home.ts'
import { isString } from '../base/text/fields.ts'
import { md5 } from '../base/text/md5.ts'
import { registerEnvironmentSecrets, type SecretGate } from '../secrets/index.ts'
import { touchedPaths } from './call-target.ts'
import type { HookEvent, Tool } from './event.ts'
import { hosts } from './hosts/hosts.ts'
import { sessionName } from './session-party.ts'
import { readPrompt } from './session-prompt.ts'
import type { Verdict } from './verdict.ts'
import { type NewAudit, type NewEvent, filesystemStore } from '../session/index.ts'

export interface RecordRequest {
  event: HookEvent
  verdict: Verdict
  agent: Parameters<typeof sessionName>[2]
  env: NodeJS.ProcessEnv
}

/** Writes a tool call into the journal and the audit log of its session, which is made if there is none. */
export async function recordCall({ event, verdict, agent, env }: RecordRequest): Promise<void> {
  const { tool, kind, host, cwd } = event
  if (tool === undefined || tool.use === 'none' || (kind !== 'pre' && kind !== 'post')) return
  const { gate, secrets } = registerEnvironmentSecrets(env)
  // Clean the input first: a call without an id is named by its hash, which allows guessing secrets.
  const input = withoutSecrets(tool.input, gate)
  const records = callRecords(event, { ...tool, input: input.value }, verdict)
  const call = withoutSecrets({ workspace: cwd, ...records }, gate)
  const masked = input.masked || call.masked
  const session = sessionName(event.sessionId, host, agent)
  // Most sessions are known by what they were first asked.
  const title = readPrompt(session, env)
  await filesystemStore({ home: stintHome(env) }).visit(
    session,
    async (visit) => {
      await visit.audit(withMark(call.value.audit, masked))
      await visit.append(withMark(call.value.event, masked))
    },
    {
      create: { tool: host, workspace: call.value.workspace, title, mask: 'tokens' },
      secrets,
      mask: 'tokens',
    },
  )
}

/** Says of a record that secrets were replaced in it: both come from one event, but only one may have any. */
const withMark = <Entry extends object>(entry: Entry, masked: boolean): Entry & { masked: boolean } => ({
  ...entry,
  masked: masked && /<(?:secret|masked)[:>]/.test(JSON.stringify(entry)),
})

/** The records of one event for the session's journal and audit log. */
interface CallRecords {
  audit: NewAudit
  event: NewEvent
}

/** The records of a call before it runs (intent, refusal) or after (outcome), with the largest field last. */
function callRecords(event: HookEvent, tool: Tool, verdict: Verdict): CallRecords {
  const { host, cwd, callId, failure } = event
  // An id for a call of a host that gives none, the same before and after the call.
  const act = callId ?? md5(`${tool.name} ${JSON.stringify(tool.input)}`).slice(0, 16)
  const what = { agent: host, tool: tool.name, call: act, at: new Date().toISOString(), cwd }
  const about = { action: `tool.${tool.use}`, subject: subjectOf(event, tool), act }
  if (event.kind === 'post') {
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
    audit: { ...about, phase: 'intent', detail: { agent: host, tool: tool.name } },
    event: { type: 'tool.call', data: { ...what, input: tool.input } },
  }
}

function subjectOf({ host }: HookEvent, tool: Tool): string {
  const { command } = tool.input
  const [file] = tool.use === 'edit' ? touchedPaths(tool) : []
  const what = file ?? (typeof command === 'string' ? command : undefined)
  return what === undefined ? `${hosts[host].title}: ${tool.name}` : `${tool.name}: ${what}`
}

/** What is kept of each string, in characters, and of each list: the output of a tool is in its file. */
const kept = { characters: 4000, items: 30 }

/** Removes secrets from a value, and then limits its size: the gate does not find half of a secret. */
function withoutSecrets<Value>(value: Value, gate: SecretGate): { value: Value; masked: boolean } {
  const json = JSON.stringify(value) ?? 'null'
  const clean = gate.json(json)
  return { value: JSON.parse(clean, shorten) as Value, masked: clean !== json }
}

function shorten(_: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, kept.items)
  if (!isString(value) || value.length <= kept.characters) return value
  return `${value.slice(0, kept.characters)}… [+${value.length - kept.characters}]`
}
