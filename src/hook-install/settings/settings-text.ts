import { StintError } from '../../base/errors/stint-error.ts'
import { type AgentName, hosts } from '../../hook/hosts.ts'

/** The content of a settings file, with all that is needed to write it back unchanged. */
export interface SettingsText {
  text: string
  /** The file starts with a byte order mark. */
  bom: boolean
}

const mark = '\uFEFF'

/** Decodes UTF-8; throws if encoding would not restore the bytes. An empty file becomes an empty object. */
export function decode(bytes: Buffer | undefined): SettingsText {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new StintError('SETTINGS_INVALID', 'it is not UTF-8', { cause: error })
  }
  const bom = text.startsWith(mark)
  const plain = bom ? text.slice(mark.length) : text
  return { text: plain.trim() === '' ? '{}\n' : plain, bom }
}

export const encode = ({ text, bom }: SettingsText): Buffer => Buffer.from(bom ? mark + text : text)

/** Agents that read strict JSON: a single comment makes them ignore the whole file, hooks included. */
const strictAgents: ReadonlySet<AgentName> = new Set(['claude', 'codex'])

/** Why the agent ignores this file, which it does silently; undefined if the agent can read it. */
export function unreadableBy(agent: AgentName, bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined || !strictAgents.has(agent)) return undefined
  const { text, bom } = decode(bytes)
  const { title } = hosts[agent]
  // Claude Code skips a byte order mark; Codex fails on it.
  if (agent === 'codex' && bom) return `${title} cannot read a file with a byte order mark`
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return `${title} cannot read a file with comments or trailing commas, and ignores all of its settings`
  }
}
