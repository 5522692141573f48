import { errorCode } from '../base/errors/stint-error.ts'
import { isWithin } from '../base/fs/paths.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { registerEnvironmentSecrets, type SecretGate } from '../secrets/index.ts'
import { vaultDirectory } from './conversation-record.ts'
import { describeConversation, listConversations } from './list-conversations.ts'
import { vaultAgents } from './places.ts'
import { linesOf, type TranscriptLine } from './read-conversation.ts'
import { entriesOf } from './transcript.ts'

/**
 * A line of a transcript in which a text was found, in the form of a found event of a session: `seq` is the
 * number of the line, `path` its file, `type` the agent and who said it (`claude.user`).
 */
export interface FoundLine {
  session: { id: string; title?: string }
  seq: number
  at: number
  type: string
  path: string
  excerpt: string
}

/**
 * Finds a text in the newest generation of all transcripts in the vault, newest conversation first. `tool` is
 * an agent, `workspace` a directory of the conversations, `since` the age of the oldest line in milliseconds.
 * Throws `VAULT_DAMAGED` at the end if a file was lost from the vault.
 */
export async function* searchTranscripts(
  pattern: string | RegExp,
  filter: { tool?: string; workspace?: string; since?: number; onBytes?: (bytes: number) => void } = {},
): AsyncGenerator<FoundLine> {
  const { tool, workspace, since = Number.POSITIVE_INFINITY, onBytes } = filter
  const { gate } = registerEnvironmentSecrets()
  const from = Date.now() - since
  const agents = vaultAgents.filter((agent) => (tool ?? agent) === agent)
  let bytes = 0
  // The other conversations are searched first.
  let damage: unknown
  for (const conversation of listConversations(vaultDirectory(), agents)) {
    const { agent, id, record, last_at } = conversation
    if (last_at < from) continue
    const described = describeConversation(conversation)
    if (workspace !== undefined && !isWithin(described.workspace ?? '', workspace)) continue
    const session = { id, title: described.title ?? undefined }
    try {
      for (const line of linesOf(record)) {
        await giveWay()
        onBytes?.((bytes += line.text.length))
        const excerpt = excerptOf(line.text, pattern, gate)
        const { at = last_at, who } = (excerpt === undefined ? undefined : entryOf(line)) ?? {}
        if (excerpt === undefined || at < from) continue
        const type = who === undefined ? agent : `${agent}.${who}`
        yield { session, seq: line.number, at, type, path: line.file, excerpt }
      }
    } catch (error) {
      if (errorCode(error) !== 'VAULT_DAMAGED') throw error
      damage ??= error
    }
  }
  if (damage !== undefined) throw damage as Error
}

const entryOf = ({ text, isPart }: TranscriptLine) => (isPart ? undefined : entriesOf(text)[0])

/** The text around the first match in a line; undefined if there is none. */
function excerptOf(line: string, pattern: string | RegExp, gate: SecretGate): string | undefined {
  if (typeof pattern === 'string' && !mayHave(line, pattern)) return undefined
  const find = (text: string): number =>
    typeof pattern === 'string' ? text.indexOf(pattern) : (pattern.exec(text)?.index ?? -1)
  // Arguments of tools are JSON in a string of JSON.
  const decoded = decodeJson(line)
  const text = [decoded, decodeJson(decoded)].find((form) => find(form) >= 0)
  if (text === undefined) return undefined
  const start = find(text)
  // Secrets are replaced in more of it first, so that none is cut in two.
  const masked = gate.text(text.slice(Math.max(0, start - 4000), start + 4000))
  const from = Math.max(0, find(masked) - 40)
  const excerpt = masked.slice(from, from + 160)
  return excerpt.replaceAll(/\s+/g, ' ').trim()
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
