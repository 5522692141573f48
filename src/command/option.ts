/** One option of a command, as declared. */
export interface OptionSpec {
  type: 'boolean' | 'string' | 'strings' | 'duration' | 'size' | 'count'
  short?: string
  /** What stands for the value in help: `--timeout D`. */
  value?: string
  /** The only values a string may have. */
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

/** Arguments of a command that leaves parsing to us. */
export interface ParsedArgs<Table extends OptionTable> {
  options: OptionValues<Table>
  positionals: string[]
}

/** What a command's handler gets for its option table: durations in milliseconds, sizes in bytes, flags as booleans. */
export type OptionValues<Table extends OptionTable> = {
  -readonly [Name in keyof Table]: ValueOf<Table[Name]>
}
