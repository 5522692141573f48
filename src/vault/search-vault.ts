import { stintHome } from '../base/fs/home.ts'
import { isWithin } from '../base/fs/paths.ts'
import { join } from 'node:path'
import { giveWay } from '../base/process/event-loop.ts'
import { registerEnvironmentSecrets, type SecretGate } from '../secrets/index.ts'
import { type Conversation, listConversations, readConversationSummary } from './list-conversations.ts'
import { vaultDirectory } from './conversation-record.ts'
import { type VaultAgent, vaultAgents } from './places.ts'
import { entriesOf, type Entry } from './transcript.ts'
import { linesOf, type TranscriptLine } from './read-conversation.ts'

/** A line of a transcript in which a text was found, in the form of a found event of a session. */
export interface FoundLine {
  session: { id: string; title?: string }
  /** The number of the line. */
  seq: number
  /** Its time, or that of the conversation, in milliseconds since the epoch. */
  at: number
  /** The agent, and who said it: `claude.user`. */
  type: string
  /** The file of the conversation that has the line. */
  path: string
  /** The text around the match, on one line, without secrets. */
  excerpt: string
}

export interface TranscriptFilter {
  /** An agent. */
  tool?: string
  /** Conversations in this directory or below it. */
  workspace?: string
  /** Nothing older than this, in milliseconds. */
  since?: number
  onBytes?: (bytes: number) => void
}

/** Finds a text in the newest generation of all transcripts in the vault, newest conversation first. */
export async function* searchTranscripts(
  pattern: string | RegExp,
  { tool, workspace, since = Number.POSITIVE_INFINITY, onBytes }: TranscriptFilter = {},
): AsyncGenerator<FoundLine> {
  const { gate } = registerEnvironmentSecrets()
  const vault = vaultDirectory(stintHome())
  const from = Date.now() - since
  let bytes = 0
  for (const each of listConversations(
    vault,
    vaultAgents.filter((agent) => (tool ?? agent) === agent),
  )) {
    if (each.lastAt < from) continue
    const summary = readConversationSummary(each)
    if (workspace !== undefined && !isWithin(summary.workspace ?? '', workspace)) continue
    for (const { file, ...line } of linesOf(join(vault, each.agent, each.id))) {
      await giveWay()
      onBytes?.((bytes += line.text.length))
      const { at = each.lastAt, who, excerpt } = findIn(line, pattern, gate) ?? {}
      if (excerpt === undefined || at < from) continue
      const session = { id: each.id, title: summary.title && gate.text(summary.title).slice(0, 200) }
      yield {
        session,
        seq: line.number,
        at,
        type: who ? `${each.agent}.${who}` : each.agent,
        path: file,
        excerpt,
      }
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
): (Partial<Pick<Entry, 'at' | 'who'>> & { excerpt: string }) | undefined {
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
