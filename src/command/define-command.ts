import type { Keep } from '../scratch/index.ts'
import type { BareContext, CommandContext } from './context.ts'
import type { OptionTable, ParsedArgs } from './option.ts'

/** What a command may decide from its arguments, before anything is made. */
export interface RunSettings {
  sessionId?: string
  /** What the owner record names as the program. */
  program?: string
  keep?: Keep
  /**
   * A guard is a small process that cleans up if this one is killed. By default it is started together with the first child; `true`: at once, also for the sake of
   * the scratch; `false`: never, then the next sweep removes the scratch once the children have ended by themselves.
   */
  guard?: boolean
}

interface CommandBase<Args, Data, Given = CommandContext> {
  name: string
  version?: string
  /** One line for help. */
  summary?: string
  /** Shown by --help, each with what it does. */
  examples?: readonly (readonly [command: string, what: string])[]
  /** `auto`: JSON unless stdout is a terminal. `on-request`: only with --json, for commands that pass a stream on. */
  envelope?: 'auto' | 'on-request'
  /** On a terminal, whose is Ctrl-C? `child`: the program we run in the foreground decides. */
  interrupt?: 'teardown' | 'child'
  /** Prints its answer itself, line by line, as it comes: there is no envelope, errors go to stderr. Some do only if asked to. */
  stream?: boolean | ((args: Args) => boolean)
  settings?(args: Args): RunSettings
  run(context: Given, args: Args): Data | Promise<Data>
  /** What a person reads instead of the envelope. */
  render?(data: Data): string
}

export interface TableCommand<Table extends OptionTable, Data, Given = CommandContext> extends CommandBase<
  ParsedArgs<Table>,
  Data,
  Given
> {
  options?: Table
  /** How positionals are shown in help; without it none are taken. */
  positionals?: string
  /** Everything from the first positional on is somebody else's command line. */
  stopAtPositional?: boolean
  parse?: undefined
}

export interface ParserCommand<Args, Data> extends CommandBase<Args, Data> {
  /** Any other parser: gets the arguments without ours (--json, --timeout, --grace, --help; not --quiet and --verbose); what it throws is exit 2. */
  parse(argv: string[]): Args
  options?: undefined
  positionals?: undefined
  stopAtPositional?: undefined
}

/** A command, whatever its arguments: what `runMain` takes. */
export interface Command {
  readonly name: string
  readonly version?: string
  readonly summary?: string
  readonly examples?: readonly (readonly [command: string, what: string])[]
  readonly envelope?: 'auto' | 'on-request'
  readonly interrupt?: 'teardown' | 'child'
  readonly stream?: boolean | ((args: never) => boolean)
  readonly options?: OptionTable
  readonly positionals?: string
  readonly stopAtPositional?: boolean
  readonly bare?: boolean
  parse?(argv: string[]): unknown
  settings?(args: never): RunSettings
  run(context: never, args: never): unknown
  render?(data: never): string
}

/** A command made of commands, each loaded only when it is called. */
export interface CommandGroup {
  readonly name: string
  readonly version?: string
  readonly summary?: string
  readonly examples?: readonly (readonly [command: string, what: string])[]
  readonly commands: Readonly<
    Record<string, { summary: string; load: () => Promise<Command | CommandGroup> }>
  >
}

/**
 * Declares a command. With an option table its arguments are parsed and typed for you; with `parse`, any parser does.
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
export function defineCommand<const Table extends OptionTable, Data>(
  command: TableCommand<Table, Data>,
): Command
export function defineCommand<Args, Data>(command: ParserCommand<Args, Data>): Command
export function defineCommand(command: object): Command {
  return command as Command
}

/** Declares a command about stint itself: without a scratch, so that it works on a full or read-only disk. */
export function defineBareCommand<const Table extends OptionTable, Data>(
  command: TableCommand<Table, Data, BareContext>,
): Command {
  return { ...(command as object as Command), bare: true }
}
