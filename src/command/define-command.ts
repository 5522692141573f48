import type { Keep } from '../scratch/index.ts'
import type { BareContext, CommandContext, Screen } from './context.ts'

/** The declaration of one option. */
export interface OptionSpec {
  /**
   * `strings` may be given several times. A `duration` (`5m`) becomes milliseconds, a `size` (`2MB`) bytes;
   * a `count` is a whole number from 0, a `number` any finite one.
   */
  type: 'boolean' | 'string' | 'strings' | 'duration' | 'size' | 'count' | 'number'
  /** One character: `n` for `-n`. */
  short?: string
  /** The placeholder for the value in help: `--timeout D`. */
  value?: string
  /** The only values that a string may have. */
  choices?: readonly string[]
  /** Without it, the command line is refused. */
  required?: boolean
  /** The value without the option: as a user would write it, or as the handler gets it. */
  default?: string | number | readonly string[]
  help: string
}

export type OptionTable = Readonly<Record<string, OptionSpec>>

type ValueOf<Spec extends OptionSpec> = Spec extends { required: true } | { default: {} }
  ? NonNullable<GivenValue<Spec>>
  : GivenValue<Spec>

type GivenValue<Spec extends OptionSpec> = Spec['type'] extends 'boolean'
  ? boolean
  : Spec['type'] extends 'duration' | 'size' | 'count' | 'number'
    ? number | undefined
    : Spec['type'] extends 'strings'
      ? string[]
      : Spec extends { choices: readonly (infer Choice)[] }
        ? Choice | undefined
        : string | undefined

/** The arguments of a command with an option table, and with positionals that this usage describes. */
export interface ParsedArgs<Table extends OptionTable, Usage extends string = string> {
  options: OptionValues<Table>
  positionals: Positionals<Usage>
  /** How many of the positionals stood before `--`; undefined without it. */
  dashesAt?: number
}

/** The values of an option table: durations in milliseconds, sizes in bytes, flags as booleans. */
export type OptionValues<Table extends OptionTable> = {
  -readonly [Name in keyof Table]: ValueOf<Table[Name]>
}

/** The words that a usage describes: `FILE [MORE…]` is a string, then any number of them. */
export type Positionals<Usage extends string> = string extends Usage
  ? string[]
  : Usage extends `${infer Place} ${infer Rest}`
    ? [...WordsAt<Place>, ...Positionals<Rest>]
    : WordsAt<Usage>

type WordsAt<Place extends string> = Place extends '' | '--'
  ? []
  : Place extends `[${string}` | `${string}]`
    ? string[]
    : Place extends `${string}...` | `${string}…`
      ? [string, ...string[]]
      : [string]

/** Settings of a run that a command derives from its arguments, before anything is made. */
export interface RunSettings {
  sessionId?: string
  /** The name of the program in the scratch's owner record. */
  program?: string
  keep?: Keep
  /**
   * When to start the guard, a small process that ends the children and removes the scratch if this process
   * is killed: `with-first-child` (the default), `eager` (at once, for the sake of the scratch), or `off`.
   * Without a guard, the next sweep removes the scratch, once the children have ended by themselves.
   */
  guard?: 'with-first-child' | 'eager' | 'off'
}

interface CommandBase<Args, Data, Given = CommandContext> {
  name: string
  version?: string
  /** One line for help. */
  summary?: string
  /** Command lines that --help shows, each with its effect. */
  examples?: readonly (readonly [command: string, what: string])[]
  /**
   * When the answer is an envelope: `auto`, as `runMain` and `STINT_OUTPUT` say; `on-request`, only with
   * --json, for commands that pass a stream on.
   */
  envelope?: 'auto' | 'on-request'
  /** What Ctrl-C does on a terminal: it ends the run, or the foreground `child` decides. */
  interrupt?: 'teardown' | 'child'
  /**
   * Whether the handler prints its answer itself, line by line: then there is no envelope, and errors go to
   * stderr. A function decides by the arguments.
   */
  stream?: boolean | ((args: Args) => boolean)
  settings?(args: Args): RunSettings | Promise<RunSettings>
  run(context: Given, args: Args): Data | Promise<Data>
  /** Returns the answer for a person, in place of the envelope. */
  render?(data: Data, screen: Screen, args: Args): string
}

export interface TableCommand<
  Table extends OptionTable,
  Data,
  Given = CommandContext,
  Usage extends string = string,
> extends CommandBase<ParsedArgs<Table, Usage>, Data, Given> {
  options?: Table
  /**
   * The positionals, as help shows them: `FILE` must be given, `[FILE]` may be, `FILE...` once or more often,
   * `[FILE...]` any number of times. Those that may be left out come last. Without it, there are none.
   */
  positionals?: Usage
  /** Whether everything from the first positional on is the command line of another program. */
  stopAtPositional?: boolean
  parse?: undefined
}

export interface ParserCommand<Args, Data> extends CommandBase<Args, Data> {
  /**
   * Parses the arguments with another parser. It gets them without stint's own (--json, --timeout, --grace,
   * --help), but with --quiet and --verbose. If it throws, the exit code is 2.
   */
  parse(argv: string[]): Args
  options?: undefined
  positionals?: undefined
  stopAtPositional?: undefined
}

/** A command with any arguments, as `runMain` takes it. */
export interface Command extends Readonly<Omit<CommandBase<never, unknown, never>, 'render'>> {
  readonly options?: OptionTable
  readonly positionals?: string
  readonly stopAtPositional?: boolean
  readonly bare?: boolean
  parse?(argv: string[]): unknown
  render?(data: never, screen: Screen, args: never): string
}

/** A command of a group: itself, or what loads it when it is called, so that others start faster. */
export type CommandEntry =
  | Command
  | CommandGroup
  | { summary: string; load: () => Promise<Command | CommandGroup> }

/** A command that consists of commands. */
export interface CommandGroup {
  readonly name: string
  readonly version?: string
  readonly summary?: string
  readonly examples?: readonly (readonly [command: string, what: string])[]
  readonly commands: Readonly<Record<string, CommandEntry>>
  /** The commands that help lists first; it only names the others. Without it, help lists all. */
  readonly everyday?: readonly string[]
  /** Runs when none of the commands is named. */
  readonly defaultCommand?: CommandEntry
}

/**
 * Declares a command. With an option table, its arguments are parsed and typed; with `parse`, any parser
 * reads them.
 *
 * @example
 * const build = defineCommand({
 *   name: 'build',
 *   options: { target: { type: 'string', help: 'what to build' } },
 *   async run(ctx, { options }) {
 *     const bundle = ctx.scratch.output('bundle.js')
 *     return { target: options.target, output_file: bundle }
 *   },
 * })
 * await runMain(build)
 */
export function defineCommand<Args, Data>(command: ParserCommand<Args, Data>): Command
// The last, because TypeScript explains only why the last overload does not fit.
export function defineCommand<const Table extends OptionTable, Data, const Usage extends string = ''>(
  command: TableCommand<Table, Data, CommandContext, Usage>,
): Command
export function defineCommand(command: object): Command {
  return command as Command
}

/**
 * Declares a command without a scratch, which works even on a full or read-only disk. It has no children, so
 * it has no --timeout and no --grace either.
 */
export function defineBareCommand<const Table extends OptionTable, Data, const Usage extends string = ''>(
  command: TableCommand<Table, Data, BareContext, Usage>,
): Command {
  return { ...(command as object as Command), bare: true }
}
