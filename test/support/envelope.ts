import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import type { Envelope } from '../../src/command/reply.ts'

export type { Envelope }

const schema = JSON.parse(
  readFileSync(new URL('../../schema/envelope.json', import.meta.url), 'utf8'),
) as object
const validate = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true }).compile(schema)

/** Checks that stdout is exactly one line with a valid envelope, and returns the envelope. */
export function validEnvelope(stdout: string): Envelope {
  const lines = stdout.split('\n')
  if (lines.length !== 2 || lines[1] !== '')
    throw new Error(`not exactly one line on stdout: ${JSON.stringify(stdout)}`)
  const value: unknown = JSON.parse(lines[0] ?? '')
  if (!validate(value))
    throw new Error(`not a valid envelope: ${JSON.stringify(validate.errors)} in ${stdout}`)
  return value as Envelope
}
