import { StintError } from '../../base/errors/stint-error.ts'

/** The text of a settings file, and what is needed to write it as it was. */
export interface SettingsText {
  text: string
  /** Some editors put one at the beginning. */
  bom: boolean
}

const mark = '\uFEFF'

/** Bytes as text; refuses what would not be the same bytes again. A file without any is an empty object. */
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
