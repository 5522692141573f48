import { homeRegister } from '../lease/index.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { agentProcess, ancestorsOf } from './agent-process.ts'
import { type Answer, speak } from './host-response.ts'
import { type HookEvent, readEvent } from './event.ts'
import { guardGit } from './git-guard.ts'
import { handleEvent } from './handle-event.ts'
import { noteWarning } from './hook-log.ts'
import { type HookOptions, parseOptions, usage } from './options.ts'
import { readObject, readText } from './read-input.ts'
import type { RecordRequest } from './record/record.ts'
import { onFault, type Verdict } from './verdict.ts'

/** Recording is rare, and a file of its own: it is loaded when it is asked for. */
export type LoadRecord = () => { record: (request: RecordRequest) => void }

export interface Reply extends Answer {
  /** It was a tool call, which is what hooks are started for most. */
  typical?: boolean
}

/** The whole of a hook: what to answer to whoever has started us. */
export function answer(args: readonly string[], env: NodeJS.ProcessEnv, load: LoadRecord): Reply {
  const options = parseOptions(args)
  if (options === undefined) return { stdout: '', stderr: `${usage}\n`, code: 1, unheard: 1 }
  const { failClosed, agent: configured } = options
  if (configured === 'git') {
    const [name = ''] = options.words
    const verdict = orFault(options, { name }, env, () => judgeGit(options, env))
    return speak(verdict, { host: 'git', kind: 'pre', configured, failClosed })
  }
  const json = readObject()
  if (json === undefined) {
    const verdict = fault(options, {}, env, 'what came on stdin is not a JSON object')
    return speak(verdict, { host: configured, kind: 'pre', configured, failClosed })
  }
  const event = readEvent(json, { configured, name: options.event, env })
  const verdict = orFault(options, event, env, () => {
    const agent = agentProcess(event.host, env)
    const verdict = handleEvent(event, options, { register: homeRegister(env), agent, env })
    if (!options.record) return verdict
    const recorded = orFault(options, event, env, () => {
      load().record({ event, verdict, json, agent, env })
      return verdict
    })
    // What could not be recorded is refused all the same.
    return verdict.block ? verdict : recorded
  })
  const said = speak(verdict, { host: event.host, kind: event.kind, configured, failClosed })
  return { ...said, typical: event.kind === 'pre' && event.tool !== undefined }
}

function judgeGit({ words: [hook, state] }: HookOptions, env: NodeJS.ProcessEnv): Verdict {
  const call = { hook, state, lines: () => readText() }
  const ancestors = [...ancestorsOf(process.ppid)]
  return guardGit(call, { env, ancestors, cwd: process.cwd(), register: homeRegister(env) })
}

/** The verdict, or what a fault comes to. */
function orFault(
  options: HookOptions,
  event: Partial<Pick<HookEvent, 'name' | 'sessionId'>>,
  env: NodeJS.ProcessEnv,
  judge: () => Verdict,
): Verdict {
  try {
    return judge()
  } catch (error) {
    return fault(options, event, env, errorMessage(error))
  }
}

function fault(
  { agent, failClosed }: HookOptions,
  { name = '', sessionId }: Partial<Pick<HookEvent, 'name' | 'sessionId'>>,
  env: NodeJS.ProcessEnv,
  warning: string,
): Verdict {
  noteWarning({ agent, event: name, session: sessionId, warning }, env)
  return onFault(failClosed, '--fail-closed', warning)
}
