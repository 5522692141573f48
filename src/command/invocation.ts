import { explained } from '../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import type { Command, CommandEntry, CommandGroup, OptionTable, OptionValues } from './define-command.ts'
import { checkPositionals, checkRequired, findClosest, parseArguments } from './parse-arguments.ts'

/** The command that a command line calls, and its arguments. */
interface Selection {
  target: Command | CommandGroup
  /** The command as the user would call it: `stint run`. */
  called: string
  argv: readonly string[]
  /** Whether help was requested. For a group, false means that no subcommand was given. */
  help: boolean
  /** Whether it was requested with `--all`: of a group with every command in it. */
  all: boolean
}

export const isGroup = (target: Command | CommandGroup): target is CommandGroup => 'commands' in target

/** Follows a command line down to a command. Calls `enter` at each step, so that an error can name it. */
export async function selectCommand(
  target: Command | CommandGroup,
  argv: readonly string[],
  enter: (called: string) => void = () => {},
): Promise<Selection> {
  let selected: Selection = { target, called: target.name, argv, help: false, all: false }
  for (;;) {
    enter(selected.called)
    const { target, called, help, all } = selected
    if (!isGroup(target)) return selected
    // Options before a command are read as if they followed it.
    const { common, rest } = takeCommonOptions(selected.argv)
    const [name, ...others] = rest
    const isNamed = name !== undefined && (isHelp(name) || !name.startsWith('-'))
    if (!isNamed && !help && target.defaultCommand !== undefined) {
      const command = await loadEntry(target.defaultCommand)
      if (name !== undefined && !takesOption(command, name)) throw unknownCommand(target, called, name)
      return { ...selected, target: command }
    }
    if (name === undefined) return selected
    if (isHelp(name)) {
      const about = others.filter((word) => !word.startsWith('-'))
      selected = { target, called, argv: about, help: true, all: others.includes('--all') }
      if (about.length === 0) return selected
      continue
    }
    const entry = Object.hasOwn(target.commands, name) ? target.commands[name] : undefined
    if (entry === undefined) throw unknownCommand(target, called, name)
    selected = {
      target: await loadEntry(entry),
      called: `${called} ${name}`,
      argv: [...common, ...others],
      help,
      all,
    }
  }
}

/** True if this word can be for the command: a parser of its own may take any. */
const takesOption = (command: Command | CommandGroup, word: string): boolean =>
  isGroup(command) ||
  command.options === undefined ||
  Object.entries(command.options).some(
    ([name, { short }]) =>
      word.replace(/=.*/, '') === `--${name}` || (short !== undefined && word.startsWith(`-${short}`)),
  )

/** The command of an entry. */
export const loadEntry = async (entry: CommandEntry): Promise<Command | CommandGroup> =>
  'load' in entry ? await entry.load() : entry

const isHelp = (word: string): boolean => ['--help', '-h', 'help'].includes(word)

/** The error of a group that is called without a command. */
export const noCommand = (group: CommandGroup): StintError =>
  new StintError('ARG_ERROR', 'no command given', { hint: listed(group) })

function unknownCommand(group: CommandGroup, called: string, name: string): StintError {
  if (name.startsWith('-')) return unknownGroupOption(group, called, name)
  const near = findClosest(name, Object.keys(group.commands))
  return new StintError('ARG_ERROR', `unknown command ${JSON.stringify(name)}`, {
    hint: near === undefined ? listed(group) : `Did you mean ${called} ${near}?`,
  })
}

function unknownGroupOption(group: CommandGroup, called: string, option: string): StintError {
  const names = ['help', ...(group.version === undefined ? [] : ['version']), ...Object.keys(commonOptions)]
  const near = findClosest(option.replace(/^-+/, ''), names)
  return new StintError('ARG_ERROR', `unknown option ${option}`, {
    hint:
      near === undefined
        ? `The options of a command come after its name: ${called} <command> ${option}`
        : `Did you mean ${called} --${near}?`,
  })
}

const listed = ({ commands }: CommandGroup): string => `Commands: ${Object.keys(commands).join(', ')}.`

/** Options that many tools have themselves: a command's own option or own parser takes precedence. */
const volumeOptions = {
  quiet: { type: 'boolean', help: 'print nothing but errors' },
  verbose: { type: 'boolean', help: 'print to stderr which directories are used, and how long it takes' },
} as const satisfies OptionTable

/** Options of every command, whatever parses the rest. */
const answerOptions = {
  json: { type: 'boolean', help: 'answer with one JSON envelope on stdout' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
} as const satisfies OptionTable

/** Options of commands with a scratch, whose children and work they limit; one may have its own `timeout`. */
const limitOptions = {
  timeout: { type: 'duration', value: 'D', help: 'stop after this long (exit 10)' },
  grace: { type: 'duration', value: 'D', help: 'time between asking children to end and killing them (5s)' },
} as const satisfies OptionTable

const runtimeOptions = { ...limitOptions, ...answerOptions }

/** Options that mean the same for all commands of a group that have them, so they may precede its name. */
export const commonOptions: OptionTable = { ...volumeOptions, ...limitOptions, json: answerOptions.json }

/** Splits the common options that a command line begins with, each with its value, from the rest. */
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

/** A command line as it was read. */
export interface Invocation {
  json: boolean
  timeoutMs: number | undefined
  graceMs: number
  help: boolean
  quiet: boolean
  verbose: boolean
  /** Whether the handler prints its answer itself, without an envelope. */
  stream: boolean
  args: unknown
}

/** All options of a command: its own, then stint's. */
export const optionsOf = ({
  options,
  parse,
  bare,
  stream,
}: Pick<Command, 'options' | 'parse' | 'bare' | 'stream'>): OptionTable => ({
  ...options,
  ...(parse === undefined && { ...volumeOptions, ...options }),
  ...(!bare && limitOptions),
  ...(options?.timeout && { timeout: options.timeout }),
  ...answerOptions,
  ...(stream === true && { json: { ...answerOptions.json, help: 'print one JSON object a line' } }),
})

const defaultGraceMs = 5000

/** Reads a command line. Throws `ARG_ERROR` before anything has happened. */
export function readInvocation(command: Command, argv: readonly string[]): Invocation {
  if (command.parse !== undefined) {
    const { options, positionals } = parseArguments(argv, runtimeOptions, { passUnknown: true })
    const args = options.help ? undefined : explained(asArgumentError, () => command.parse?.(positionals))
    return { ...runtimeValues(options), quiet: false, verbose: false, stream: isStream(command, args), args }
  }
  const parsed = parseArguments(argv, optionsOf(command), { stopAtPositional: command.stopAtPositional })
  const settings = runtimeValues(parsed.options as unknown as RuntimeOptions)
  if (!settings.help) {
    checkPositionals(parsed.positionals, command.positionals)
    checkRequired(parsed.options, command.options ?? {})
  }
  const volume = readVolume(command, parsed.options)
  // A command with its own timeout decides itself what happens then.
  if (command.options?.timeout !== undefined) settings.timeoutMs = undefined
  return { ...settings, ...volume, stream: isStream(command, parsed), args: parsed }
}

type RuntimeOptions = OptionValues<typeof runtimeOptions>

const isStream = ({ stream }: Command, args: unknown): boolean =>
  typeof stream === 'function' ? stream(args as never) : (stream ?? false)

type Volume = Pick<Invocation, 'quiet' | 'verbose'>

function readVolume({ options = {} }: Command, values: Readonly<Record<string, unknown>>): Volume {
  const isOn = (name: keyof Volume): boolean => !Object.hasOwn(options, name) && values[name] === true
  const volume = { quiet: isOn('quiet'), verbose: isOn('verbose') }
  if (volume.quiet && volume.verbose)
    throw new StintError('ARG_ERROR', '--quiet and --verbose exclude each other')
  return volume
}

function runtimeValues(options: RuntimeOptions): Pick<Invocation, 'json' | 'timeoutMs' | 'graceMs' | 'help'> {
  return {
    json: options.json,
    timeoutMs: options.timeout,
    graceMs: options.grace ?? defaultGraceMs,
    help: options.help,
  }
}

const asArgumentError = (error: unknown): StintError =>
  error instanceof StintError ? error : new StintError('ARG_ERROR', errorMessage(error), { cause: error })
