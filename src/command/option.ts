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
