import { isWithin } from '../base/fs/paths.ts'
import { join } from 'node:path'
import { giveWay } from '../base/process/event-loop.ts'
import type { SecretGate } from '../secrets/index.ts'
import { type Conversation, listConversations } from './list-conversations.ts'
import type { VaultAgent } from './places.ts'
import { entriesOf } from './transcript.ts'
import { linesOf, type TranscriptLine } from './read-conversation.ts'

export interface FoundText {
  conversation: Conversation
  file: string
  /** The number of the line in that file. */
  line: number
  at?: number
  who?: 'user' | 'assistant' | 'tool'
  /** The text around the match, on one line, without secrets. */
  excerpt: string
}

export interface SearchFilter {
  agent?: VaultAgent
  /** Conversations in this directory or below it. */
  workspace?: string
  /** Nothing earlier; in milliseconds since the epoch. */
  since?: number
  onBytes?: (bytes: number) => void
}

/** Finds a text in the newest generation of all transcripts, newest conversation first. */
export async function* searchVault(
  vault: string,
  pattern: string | RegExp,
  gate: SecretGate,
  { agent, workspace, since = 0, onBytes }: SearchFilter = {},
): AsyncGenerator<FoundText> {
  let bytes = 0
  for (const conversation of listConversations(vault, agent && [agent])) {
    const isElsewhere = workspace !== undefined && !isWithin(conversation.workspace ?? '', workspace)
    if (isElsewhere || conversation.lastAt < since) continue
    for (const { file, ...line } of linesOf(join(vault, conversation.agent, conversation.id))) {
      await giveWay()
      onBytes?.((bytes += line.text.length))
      const found = findIn(line, pattern, gate)
      if (found !== undefined && (found.at ?? Number.POSITIVE_INFINITY) >= since)
        yield { conversation, file, line: line.number, ...found }
    }
  }
}

/** A token, or a value of the environment, in a conversation; `kind` names it. */
export interface FoundSecret {
  agent: VaultAgent
  id: string
  file: string
  line: number
  kind: string
}

/** Finds secrets in conversations, without their values. */
export async function scanVault(
  vault: string,
  conversations: readonly Conversation[],
  gate: SecretGate,
  onDone: (count: number) => void,
): Promise<FoundSecret[]> {
  const found: FoundSecret[] = []
  for (const [index, { agent, id }] of conversations.entries()) {
    for (const { file, number, text } of linesOf(join(vault, agent, id))) {
      await giveWay()
      for (const kind of new Set(gate.kindsIn(text))) found.push({ agent, id, file, line: number, kind })
    }
    onDone(index + 1)
  }
  return found
}

function findIn(
  { text, isPart }: TranscriptLine,
  pattern: string | RegExp,
  gate: SecretGate,
): Pick<FoundText, 'at' | 'who' | 'excerpt'> | undefined {
  if (typeof pattern === 'string' && !mayHave(text, pattern)) return undefined
  // Arguments of tools are JSON in a string of JSON.
  const decoded = decodeJson(text)
  for (const form of [decoded, decodeJson(decoded)]) {
    const start = typeof pattern === 'string' ? form.indexOf(pattern) : (pattern.exec(form)?.index ?? -1)
    if (start < 0) continue
    const [entry] = isPart ? [] : entriesOf(text)
    return {
      ...(entry?.at !== undefined && { at: entry.at }),
      ...(entry && { who: entry.who }),
      excerpt: excerptOf(form, start, pattern, gate),
    }
  }
  return undefined
}

/** A text can be in a line only if its longest part without special characters is. */
function mayHave(line: string, text: string): boolean {
  const parts = text.split(/[^\w .,:;()=-]+/).sort((a, b) => b.length - a.length)
  return line.includes(parts[0] ?? '')
}

const named: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** A text with the escapes of JSON decoded: `\n`, `\"`, `\u00e9`. */
const decodeJson = (text: string): string =>
  text.includes('\\')
    ? text.replaceAll(/\\(?:u([\dA-Fa-f]{4})|([^]))/g, (_, code: string | undefined, char = '') =>
        code === undefined ? (named[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text

/** The text around a match. Secrets are replaced in more of it first, so that none is cut in two. */
function excerptOf(text: string, start: number, pattern: string | RegExp, gate: SecretGate): string {
  const masked = gate.text(text.slice(Math.max(0, start - 4000), start + 4000))
  const at = typeof pattern === 'string' ? masked.indexOf(pattern) : masked.search(pattern)
  const from = Math.max(0, at - 40)
  return masked
    .slice(from, from + 160)
    .replaceAll(/\s+/g, ' ')
    .trim()
}
