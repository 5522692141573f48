/** The declaration of one option. */
export interface OptionSpec {
  type: 'boolean' | 'string' | 'strings' | 'duration' | 'size' | 'count'
  /** One character: `n` for `-n`. */
  short?: string
  /** The placeholder for the value in help: `--timeout D`. */
  value?: string
  /** The only values that a string may have. */
  choices?: readonly string[]
  help: string
}

export type OptionTable = Readonly<Record<string, OptionSpec>>

type ValueOf<Spec extends OptionSpec> = Spec['type'] extends 'boolean'
  ? boolean
  : Spec['type'] extends 'duration' | 'size' | 'count'
    ? number | undefined
    : Spec['type'] extends 'strings'
      ? string[]
      : Spec extends { choices: readonly (infer Choice)[] }
        ? Choice | undefined
        : string | undefined

/** The arguments of a command with an option table. */
export interface ParsedArgs<Table extends OptionTable> {
  options: OptionValues<Table>
  positionals: string[]
}

/** The values of an option table: durations in milliseconds, sizes in bytes, flags as booleans. */
export type OptionValues<Table extends OptionTable> = {
  -readonly [Name in keyof Table]: ValueOf<Table[Name]>
}
