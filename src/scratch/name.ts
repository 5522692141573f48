import { StintError } from '../base/errors/stint-error.ts'

/** The parts of a name that stays inside the directory it is joined to, or `NAME_INVALID`. */
export function safeNameParts(name: string): string[] {
  const parts = name.split('/')
  if (name.includes('\0') || parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw invalid(name, 'it must be a relative path without empty parts, "." or ".."')
  }
  if (process.platform === 'win32' && /[\\:]/.test(name)) throw invalid(name, 'it holds "\\" or ":"')
  if (parts.some((part) => Buffer.byteLength(part) > 255)) throw invalid(name, 'a part is over 255 bytes')
  return parts
}

const invalid = (name: string, why: string): StintError =>
  new StintError('NAME_INVALID', `cannot use ${JSON.stringify(name.slice(0, 80))} as a name: ${why}`)
