import type { Keep } from '../scratch/index.ts'
import type { BareContext, CommandContext } from './context.ts'
import type { OptionTable, ParsedArgs } from './option.ts'
import type { Screen } from './stdio.ts'

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
