import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * A use of a tool, with name and input as the agent declares them; or the final words of a turn. Codex
 * declares the tools of an MCP server in a namespace.
 */
export type Step = { tool: string; namespace?: string; input: Record<string, unknown> | string } | string

/** A part of a conversation that matters here: a prompt of the user, or the result of a tool. */
type Part = { prompt: string } | { result: string }

/**
 * A stand-in for the model of both agents, on loopback: the Messages API for Claude Code, the Responses API
 * for Codex. A prompt `play NAME` makes it play the script of that name: one step for each request, so the
 * number of results since the prompt says which step is next, in a resumed session, too.
 */
export class Model implements AsyncDisposable {
  /** Hosts other than this server that an agent wanted to talk to. All were refused. */
  readonly refusedHosts = new Set<string>()
  readonly #scripts = new Map<string, readonly (Step | (() => Promise<Step>))[]>()
  readonly #results = new Map<string, string[]>()
  readonly #requests = new Map<string, string>()
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
    // Agents have this server as their proxy, too.
    this.#server.on('connect', (request: IncomingMessage, socket) => {
      this.refusedHosts.add(request.url ?? '')
      // Codex closes connections when it ends, whatever is still to be read.
      socket.on('error', () => {}).end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
  }

  static async listen(): Promise<Model> {
    const model = new Model()
    await new Promise<void>((resolve) => model.#server.listen(0, '127.0.0.1', resolve))
    return model
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Sets the steps that follow the prompt `play NAME`. A function is asked for its step when it is due. */
  script(name: string, ...steps: (Step | (() => Promise<Step>))[]): void {
    this.#scripts.set(name, steps)
  }

  /** The results of the tools of a script, as the agent reported them to its model. */
  results(name: string): readonly string[] {
    return this.#results.get(name) ?? []
  }

  /** The last request of a script: everything that the agent has told its model. */
  request(name: string): string {
    return this.#requests.get(name) ?? ''
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', this.url).pathname
    if (/^https?:/.test(request.url ?? '')) this.refusedHosts.add(new URL(request.url ?? '').host)
    const body = await text(request)
    const json = (body === '' ? {} : JSON.parse(body)) as Json
    if (path.endsWith('/messages'))
      return messagesReply(response, json, await this.#next(messagesParts(json), body))
    if (path.endsWith('/responses'))
      return responsesReply(response, await this.#next(responsesParts(json), body))
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  }

  async #next(parts: readonly Part[], body: string): Promise<Step> {
    const at = parts.findLastIndex((part) => 'prompt' in part && scriptIn(part.prompt) !== undefined)
    const prompt = parts[at]
    const name = prompt !== undefined && 'prompt' in prompt ? scriptIn(prompt.prompt) : undefined
    // An agent asks its model for other things, too, such as a title for the session.
    if (name === undefined) return 'Nothing to do.'
    const results = parts.slice(at + 1).flatMap((part) => ('result' in part ? [part.result] : []))
    this.#results.set(name, results)
    this.#requests.set(name, body)
    const step = this.#scripts.get(name)?.[results.length] ?? 'Done.'
    if (typeof step !== 'function') return step
    // A request that fails is repeated for minutes; words end the turn, and the scene with it.
    return step().catch((error: unknown) => `The script failed: ${String(error)}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

type Json = Readonly<Record<string, unknown>>

/** The script that a prompt names. Other text may quote a prompt, but never consists of it. */
const scriptIn = (prompt: string): string | undefined => /^play ([a-z-]+)$/.exec(prompt.trim())?.[1]

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function messagesParts({ messages, tools }: Json): Part[] {
  if (listOf(tools).length === 0) return []
  return listOf(messages).flatMap(({ role, content }): Part[] => {
    if (role !== 'user') return []
    if (typeof content === 'string') return [{ prompt: content }]
    return listOf(content).flatMap((block): Part[] => {
      if (block.type === 'text') return [{ prompt: stringOf(block.text) }]
      return block.type === 'tool_result' ? [{ result: stringOf(block.content) }] : []
    })
  })
}

function responsesParts({ input }: Json): Part[] {
  return listOf(input).flatMap((item): Part[] => {
    if (stringOf(item.type).endsWith('call_output')) return [{ result: stringOf(item.output) }]
    if (item.role !== 'user') return []
    return listOf(item.content).map((block) => ({ prompt: stringOf(block.text) }))
  })
}

let made = 0
const newId = (prefix: string): string => `${prefix}_standin${++made}`

function events(response: ServerResponse, list: readonly Json[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of list)
    response.write(`event: ${stringOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

function messagesReply(response: ServerResponse, { model, stream }: Json, step: Step): void {
  const isText = typeof step === 'string'
  const block = isText
    ? { type: 'text', text: step }
    : { type: 'tool_use', id: newId('toolu'), name: step.tool, input: step.input }
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: newId('msg'), type: 'message', role: 'assistant', model, stop_sequence: null, usage }
  const stop_reason = isText ? 'end_turn' : 'tool_use'
  if (stream !== true) {
    const body = { ...message, content: [block], stop_reason }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return
  }
  events(response, [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: isText
        ? { type: 'text_delta', text: step }
        : { type: 'input_json_delta', partial_json: JSON.stringify(step.input) },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ])
}

function responsesReply(response: ServerResponse, step: Step): void {
  const id = newId('resp')
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  events(response, [
    { type: 'response.created', response: { id } },
    { type: 'response.output_item.done', output_index: 0, item: responsesItem(step) },
    { type: 'response.completed', response: { id, usage } },
  ])
}

/** A tool whose input is a string is one that Codex calls custom, such as `apply_patch`. */
function responsesItem(step: Step): Json {
  if (typeof step === 'string')
    return {
      type: 'message',
      role: 'assistant',
      id: newId('msg'),
      content: [{ type: 'output_text', text: step }],
    }
  const { namespace } = step
  const ids = { id: newId('item'), call_id: newId('call') }
  const call = { ...ids, name: step.tool, ...(namespace && { namespace }), status: 'completed' }
  return typeof step.input === 'string'
    ? { type: 'custom_tool_call', ...call, input: step.input }
    : { type: 'function_call', ...call, arguments: JSON.stringify(step.input) }
}
