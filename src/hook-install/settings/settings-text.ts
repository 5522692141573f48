import { StintError } from '../../base/errors/stint-error.ts'
import type { SettingsAgentName } from '../../hook/host.ts'
import { hosts } from '../../hook/hosts.ts'
import { hostSettings } from '../host-settings.ts'

/** The content of a settings file, with all that is needed to write it back unchanged. */
export interface SettingsText {
  text: string
  /** The file starts with a byte order mark. */
  bom: boolean
}

const mark = '\uFEFF'

/** Decodes UTF-8; throws if encoding would not restore the bytes. An empty file becomes `emptyText`. */
export function decode(bytes: Buffer | undefined, emptyText = '{}\n'): SettingsText {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new StintError('SETTINGS_INVALID', 'it is not UTF-8', { cause: error })
  }
  const bom = text.startsWith(mark)
  const plain = bom ? text.slice(mark.length) : text
  return { text: plain.trim() === '' ? emptyText : plain, bom }
}

export const encode = ({ text, bom }: SettingsText): Buffer => Buffer.from(bom ? mark + text : text)

/** Why the agent ignores this file, which it does silently; undefined if the agent can read it. */
export function unreadableBy(agent: SettingsAgentName, bytes: Buffer | undefined): string | undefined {
  const { strict } = hostSettings[agent]
  if (bytes === undefined || strict === undefined) return undefined
  const { text, bom } = decode(bytes)
  const { title } = hosts[agent]
  if (strict === 'noMark' && bom) return `${title} cannot read a file with a byte order mark`
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return `${title} cannot read a file with comments or trailing commas, and ignores all of its settings`
  }
}
