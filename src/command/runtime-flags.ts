import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import type { OptionTable, OptionValues } from './option.ts'
import { parseArguments } from './parse-arguments.ts'
import type { Command } from './define-command.ts'

/** How much a command says. Tools often have these themselves: an option of a command's own by that name, and any parser of its own, goes first. */
const talkOptions = {
  quiet: { type: 'boolean', help: 'print nothing but errors' },
  verbose: { type: 'boolean', help: 'print to stderr which directories are used, and how long it takes' },
} as const satisfies OptionTable

/** Every command has these, whatever parses the rest. */
const runtimeOptions = {
  json: { type: 'boolean', help: 'answer with one JSON envelope on stdout' },
  timeout: { type: 'duration', value: 'D', help: 'stop after this long (exit 10)' },
  grace: { type: 'duration', value: 'D', help: 'time between asking children to end and killing them (5s)' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
} as const satisfies OptionTable

/** What means the same for every command of a group, and so can also stand before its name. */
export const commonOptions: OptionTable = {
  ...talkOptions,
  json: runtimeOptions.json,
  timeout: runtimeOptions.timeout,
  grace: runtimeOptions.grace,
}

/** Takes those that a command line begins with from the rest of it, each with its value. */
export function takeCommonOptions(argv: readonly string[]): { common: string[]; rest: string[] } {
  let count = 0
  for (let word = argv[0]; word !== undefined; word = argv[count]) {
    const [, name = '', inline] = /^--([a-z]+)(=.*)?$/.exec(word) ?? []
    const spec = Object.hasOwn(commonOptions, name) ? commonOptions[name] : undefined
    if (spec === undefined) break
    count += spec.type === 'boolean' || inline !== undefined ? 1 : 2
  }
  return { common: argv.slice(0, count), rest: argv.slice(count) }
}

export interface Invocation {
  json: boolean
  timeoutMs: number | undefined
  graceMs: number
  help: boolean
  quiet: boolean
  verbose: boolean
  /** It prints its answer itself: there is no envelope. */
  stream: boolean
  args: unknown
}

/** All options of a command: its own, then ours. */
export const optionsOf = ({ options, parse }: Pick<Command, 'options' | 'parse'>): OptionTable => ({
  ...options,
  ...(parse === undefined && { ...talkOptions, ...options }),
  ...runtimeOptions,
})

const defaultGraceMs = 5000

/** Reads a command line; `ARG_ERROR` before anything has happened. */
export function readInvocation(command: Command, argv: readonly string[]): Invocation {
  if (command.parse !== undefined) {
    const { options, positionals } = parseArguments(argv, runtimeOptions, { passUnknown: true })
    const args = options.help ? undefined : parseWith(command, positionals)
    return { ...settingsOf(options), ...asUsual, stream: isStream(command, args), args }
  }
  const parsed = parseArguments(argv, optionsOf(command), { stopAtPositional: command.stopAtPositional })
  const settings = settingsOf(parsed.options as unknown as RuntimeValues)
  const [extra] = parsed.positionals
  if (extra !== undefined && command.positionals === undefined && !settings.help) {
    throw new StintError('ARG_ERROR', `unexpected argument ${JSON.stringify(extra)}`)
  }
  return { ...settings, ...talkOf(command, parsed.options), stream: isStream(command, parsed), args: parsed }
}

type RuntimeValues = OptionValues<typeof runtimeOptions>

const isStream = ({ stream }: Command, args: unknown): boolean =>
  typeof stream === 'function' ? stream(args as never) : (stream ?? false)

type Talk = Pick<Invocation, 'quiet' | 'verbose'>

const asUsual: Talk = { quiet: false, verbose: false }

function talkOf({ options = {} }: Command, given: Readonly<Record<string, unknown>>): Talk {
  const isOn = (name: keyof Talk): boolean => !Object.hasOwn(options, name) && given[name] === true
  const talk = { quiet: isOn('quiet'), verbose: isOn('verbose') }
  if (talk.quiet && talk.verbose)
    throw new StintError('ARG_ERROR', '--quiet and --verbose exclude each other')
  return talk
}

function settingsOf(options: RuntimeValues): Pick<Invocation, 'json' | 'timeoutMs' | 'graceMs' | 'help'> {
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
    throw new StintError('ARG_ERROR', errorMessage(error), {
      cause: error,
    })
  }
}
