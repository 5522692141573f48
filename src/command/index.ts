export { type Envelope, type EnvelopeError, type EnvelopeMeta } from './envelope.ts'
export type { BareContext, ChildExit, Context, RunChild } from './context.ts'
export type { OptionSpec, OptionTable, OptionValues } from './option.ts'
export { runMain, type RunMainOptions } from './run-main.ts'
export {
  type Command,
  type CommandGroup,
  defineBareCommand,
  defineCommand,
  type ParsedArgs,
  type ParserCommand,
  type RunSettings,
  type TableCommand,
} from './spec.ts'
