import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Ajv as AjvClass, ValidateFunction } from 'ajv'
import type { Envelope } from '../../src/command/reply.ts'

export type { Envelope }

let validate: ValidateFunction | undefined

/** Loads Ajv and compiles the schema for the first envelope: most test files never see one. */
function compileSchema(): ValidateFunction {
  const { Ajv } = createRequire(import.meta.url)('ajv') as { Ajv: typeof AjvClass }
  const schema = readFileSync(new URL('../../schema/envelope.json', import.meta.url), 'utf8')
  return new Ajv({ allErrors: true, strict: true, allowUnionTypes: true }).compile(JSON.parse(schema))
}

/** Checks that stdout is exactly one line with a valid envelope, and returns the envelope. */
export function validEnvelope(stdout: string): Envelope {
  const lines = stdout.split('\n')
  if (lines.length !== 2 || lines[1] !== '')
    throw new Error(`not exactly one line on stdout: ${JSON.stringify(stdout)}`)
  const value: unknown = JSON.parse(lines[0] ?? '')
  validate ??= compileSchema()
  if (!validate(value))
    throw new Error(`not a valid envelope: ${JSON.stringify(validate.errors)} in ${stdout}`)
  return value as Envelope
}
