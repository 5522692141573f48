import { StintError } from '../primitives/stint-error.ts'
import type { OptionTable, OptionValues } from './option.ts'
import { parseArguments } from './parse-arguments.ts'
import type { Command } from './spec.ts'

/** Every command has these, whatever parses the rest. */
export const runtimeOptions = {
  json: { type: 'boolean', help: 'answer with one JSON envelope on stdout' },
  timeout: { type: 'duration', value: 'D', help: 'stop after this long (exit 10)' },
  grace: { type: 'duration', value: 'D', help: 'time between asking children to end and killing them (5s)' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
} as const satisfies OptionTable

export interface Invocation {
  json: boolean
  timeoutMs: number | undefined
  graceMs: number
  help: boolean
  args: unknown
}

const defaultGraceMs = 5000

/** Reads a command line; `ARG_ERROR` before anything has happened. */
export function readInvocation(command: Command, argv: readonly string[]): Invocation {
  if (command.parse !== undefined) {
    const { options, positionals } = parseArguments(argv, runtimeOptions, { passUnknown: true })
    return { ...settingsOf(options), args: options.help ? undefined : parseWith(command, positionals) }
  }
  const table: OptionTable = { ...command.options, ...runtimeOptions }
  const parsed = parseArguments(argv, table, { stopAtPositional: command.stopAtPositional })
  const settings = settingsOf(parsed.options as unknown as RuntimeValues)
  const [extra] = parsed.positionals
  if (extra !== undefined && command.positionals === undefined && !settings.help) {
    throw new StintError('ARG_ERROR', `${command.name} takes no argument ${JSON.stringify(extra)}`)
  }
  return { ...settings, args: parsed }
}

type RuntimeValues = OptionValues<typeof runtimeOptions>

function settingsOf(options: RuntimeValues): Omit<Invocation, 'args'> {
  return {
    json: options.json,
    timeoutMs: options.timeout,
    graceMs: options.grace ?? defaultGraceMs,
    help: options.help,
  }
}

function parseWith(command: Command, argv: string[]): unknown {
  try {
    return command.parse?.(argv)
  } catch (error) {
    if (error instanceof StintError) throw error
    throw new StintError('ARG_ERROR', error instanceof Error ? error.message : String(error), {
      cause: error,
    })
  }
}
