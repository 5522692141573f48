import { isRecord, isString, parseObject } from '../base/text/fields.ts'

/** Something that was said or done in a conversation. */
export interface Entry {
  /** The line of the transcript that has it, counted from 1. */
  line?: number
  /** Milliseconds since the epoch; undefined if the transcript does not say. */
  at?: number
  who: 'user' | 'assistant' | 'tool'
  /** The tool that was called. */
  tool?: string
  text: string
}

type Json = Record<string, unknown>

/**
 * The entries in a line of any agent's transcript; none for lines that only the agent needs. Formats change
 * every month, so nothing is required: what is not understood is left out.
 */
export function entriesOf(line: string): Entry[] {
  const json = parseObject(line)
  if (json === undefined) return []
  const at = timeOf(json)
  return entriesIn(json)
    .filter(({ text, tool }) => text !== '' || tool !== undefined)
    .map((entry) => ({ ...(at !== undefined && { at }), ...entry }))
}

/** The entries of an export of OpenCode, which is one JSON document. */
export function exportedEntries(document: string): Entry[] {
  const messages = parseObject(document)?.messages
  return (Array.isArray(messages) ? messages.filter(isRecord) : []).flatMap(({ info, parts }) => {
    const { role, time } = objectOf(info)
    const at = objectOf(time).created
    return blocksOf(parts, whoIs(role)).map((entry) => ({ ...(typeof at === 'number' && { at }), ...entry }))
  })
}

function timeOf({ timestamp }: Json): number | undefined {
  const at = typeof timestamp === 'number' ? timestamp : Date.parse(isString(timestamp) ? timestamp : '')
  return Number.isFinite(at) ? at : undefined
}

function entriesIn(json: Json): Entry[] {
  const { type, message, payload, data } = json
  // Codex; its lines of type `event_msg` repeat what was said.
  if (isRecord(payload)) return type === 'response_item' ? codexEntries(payload) : []
  // Copilot.
  if (isRecord(data) && isString(type)) return copilotEntries(data, type)
  if (!isString(type) || !['user', 'assistant', 'gemini', 'tool_result'].includes(type)) return []
  // Claude Code and Qwen Code.
  if (isRecord(message)) return blocksOf(message.content ?? message.parts, whoIs(type))
  // Gemini.
  const calls = Array.isArray(json.toolCalls) ? json.toolCalls.filter(isRecord) : []
  return [
    ...blocksOf(json.content, whoIs(type)),
    ...calls.flatMap(({ name, args, result }) => [callOf(name, args), resultOf(result)]),
  ]
}

function codexEntries({ type, role, content, name, arguments: args, input, output }: Json): Entry[] {
  if (type === 'message') return role === 'user' || role === 'assistant' ? blocksOf(content, role) : []
  if (type === 'function_call' || type === 'custom_tool_call') return [callOf(name, args ?? input)]
  return type === 'function_call_output' || type === 'custom_tool_call_output' ? [resultOf(output)] : []
}

function copilotEntries(data: Json, type: string): Entry[] {
  if (type === 'user.message') return [{ who: 'user', text: textOf(data.content) }]
  if (type === 'assistant.message') return [{ who: 'assistant', text: textOf(data.content) }]
  if (type === 'tool.execution_start') return [callOf(data.toolName, data.arguments)]
  return type === 'tool.execution_complete' ? [resultOf(data.result)] : []
}

/** The entries of a message: a text, or blocks of text, calls and results. */
function blocksOf(content: unknown, who: Entry['who']): Entry[] {
  if (isString(content)) return [{ who, text: content }]
  const blocks = Array.isArray(content) ? content : []
  return blocks.flatMap((block: unknown): Entry[] => {
    const { type, text, name, tool, input, content, state, functionCall, functionResponse } = objectOf(block)
    if (type === 'tool_use') return [callOf(name, input)]
    if (type === 'tool_result') return [resultOf(content)]
    if (type === 'tool') return [callOf(tool, objectOf(state).input), resultOf(objectOf(state).output)]
    if (isRecord(functionCall)) return [callOf(functionCall.name, functionCall.args)]
    if (isRecord(functionResponse)) return [resultOf(functionResponse.response)]
    return isString(text) ? [{ who, text }] : []
  })
}

const callOf = (name: unknown, input: unknown): Entry => ({
  who: 'assistant',
  tool: isString(name) ? name : 'a tool',
  text: textOf(input),
})

const resultOf = (result: unknown): Entry => ({ who: 'tool', text: textOf(result) })

const whoIs = (role: unknown): Entry['who'] => {
  if (role === 'user') return 'user'
  return role === 'tool_result' || role === 'tool' ? 'tool' : 'assistant'
}

const objectOf = (value: unknown): Json => (isRecord(value) ? value : {})

/** Any value as text: the strings of blocks, otherwise its JSON. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (isString(value)) return value
  const texts = Array.isArray(value) ? value.map((each) => objectOf(each).text).filter(isString) : []
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(value)
}

/** More than a list shows: a token that is cut in two would not be masked. */
const titleChars = 2000

/** What the beginning of a transcript says: the first words of the first prompt, and the workspace. */
export function summaryOf(agent: string, head: string): { title?: string; workspace?: string } {
  const workspace = firstString(head, /"(?:cwd|directory)"\s*:\s*("(?:[^"\\]|\\.)*")/)
  // An export is one document, of which the head is only a part.
  const prompt =
    agent === 'opencode' ? firstString(head, /"text"\s*:\s*("(?:[^"\\]|\\.)*")/) : firstPrompt(head)
  const title = prompt?.replaceAll(/\s+/g, ' ').trim().slice(0, titleChars)
  return { ...(title && { title }), ...(workspace && { workspace }) }
}

/** Agents put words of their own before the first prompt: elements of XML, AGENTS.md, a caveat. */
const notPrompt = /^\s*(?:<[\w-]+>|# AGENTS\.md |Caveat: )/

const firstPrompt = (head: string): string | undefined =>
  head
    .split('\n')
    .flatMap(entriesOf)
    .find(({ who, text }) => who === 'user' && !notPrompt.test(text))?.text

function firstString(json: string, pattern: RegExp): string | undefined {
  const value = parseObject(`{"value":${pattern.exec(json)?.[1] ?? null}}`)?.value
  return isString(value) ? value : undefined
}
