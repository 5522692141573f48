import { isAbsolute } from 'node:path'
import { StintError } from '../base/errors/stint-error.ts'

const kinds = ['env', 'file', 'keyring'] as const

/** Where a secret is to be had: what a session keeps of it, never the value. */
export interface SecretRef {
  kind: (typeof kinds)[number]
  /** The name of the variable, or the absolute path of the file. */
  name: string
}

const maxNameLength = 4096
// oxlint-disable-next-line no-control-regex -- a name is shown to people: nothing in it may steer their terminal
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** `env:NAME`, `file:/path`: the reference as text. */
export const formatSecretRef = ({ kind, name }: SecretRef): string => `${kind}:${name}`

/** The reference, if that is what it is: one read from a file or handed over by plain JavaScript may be anything. */
export function checkSecretRef(value: unknown): SecretRef {
  const { kind, name } = Object(value) as Record<keyof SecretRef, unknown>
  const known = kinds.find((each) => each === kind)
  // Not quoted: somebody who mistakes the one for the other hands over the secret itself.
  if (known === undefined) throw invalid('is not env:NAME or file:/path')
  if (typeof name !== 'string' || name === '' || name.length > maxNameLength || unprintable.test(name)) {
    throw invalid('has no usable name')
  }
  if (known === 'env' && name.includes('=')) throw invalid('names a variable with "=" in it')
  // A relative path would be another file for whoever resumes the session elsewhere.
  if (known === 'file' && !isAbsolute(name)) throw invalid('names a file by a relative path')
  return { kind: known, name }
}

const invalid = (what: string): StintError =>
  new StintError('NAME_INVALID', `the reference to a secret ${what}`, {
    hint: 'Write env:NAME for a variable, file:/absolute/path for a file.',
  })
