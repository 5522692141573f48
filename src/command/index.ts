/**
 * Runs a handler as a well-behaved command: scratch, children, signals, teardown, one envelope, exit code.
 *
 * @module stint/command
 */
export type { Envelope, EnvelopeError, EnvelopeMeta } from './reply.ts'
export type { BareContext, ChildExit, CommandContext, RunChild } from './context.ts'
export {
  type OptionSpec,
  type OptionTable,
  type OptionValues,
  type ParsedArgs,
  type Positionals,
  type Command,
  type CommandEntry,
  type CommandGroup,
  defineBareCommand,
  defineCommand,
  type ParserCommand,
  type RunSettings,
  type TableCommand,
} from './define-command.ts'
export type { Paint, Screen } from './context.ts'
export { StintError, type StintErrorOptions } from '../base/errors/stint-error.ts'
export { runMain, type RunMainOptions } from './run-main.ts'
