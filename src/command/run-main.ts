import { explained } from '../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { stintHome } from '../base/fs/home.ts'
import { after } from '../base/process/clock.ts'
import { columnsOf, isTerminal, leaveTerminalToReader, writeOut } from '../base/process/terminal.ts'
import { newRequestId } from '../base/text/id.ts'
import { makeBareContext } from './context.ts'
import type { Command, CommandGroup } from './define-command.ts'
import { Interruptions, StopSignal } from './interruption.ts'
import { type Invocation, isGroup, noCommand, readInvocation, selectCommand } from './invocation.ts'
import { asStintError, outcomeOf, Reply } from './reply.ts'

export interface RunMainOptions {
  /** The arguments; by default those of this process. */
  argv?: readonly string[]
  /**
   * When the answer is an envelope: `auto` (the default), with --json or if stdout is no terminal; `text`,
   * only with --json. `STINT_OUTPUT`, which is `json` or `text`, overrides this.
   */
  output?: 'auto' | 'text'
}

/**
 * Runs a command as this process: scratch, signals, timeout, teardown, one envelope, exit code. Does not
 * return.
 *
 * @example
 * await runMain(build)
 */
export async function runMain(target: Command | CommandGroup, options: RunMainOptions = {}): Promise<never> {
  // First of all: from here on a signal ends the run in order, as soon as there is one.
  const interruptions = new Interruptions()
  const argv = options.argv ?? process.argv.slice(2)
  const reply = new Reply(target.name, newRequestId())
  reply.json = hasJsonFlag(argv)
  const exit = await main(target, { argv, output: options.output ?? 'auto' }, reply, interruptions)
  leaveTerminalToReader()
  process.exit(exit)
}

async function main(
  target: Command | CommandGroup,
  { argv, output }: Required<RunMainOptions>,
  reply: Reply,
  interruptions: Interruptions,
): Promise<number> {
  try {
    const prefersJson = await isJsonPreferred(output)
    const hasFlag = reply.json
    reply.json ||= prefersJson
    if (target.version !== undefined && asksForVersion(target, argv)) return print(`${target.version}\n`)
    const selected = await selectCommand(target, argv, (called) => (reply.name = called))
    const { target: command, called, argv: ownArgv, help, all } = selected
    if (help) return await printHelp(command, called, all)
    if (isGroup(command)) return await refuseGroup(command, called, reply)
    const isJsonByDefault = prefersJson && command.envelope !== 'on-request'
    reply.json = hasFlag || isJsonByDefault
    const invocation = explained(
      (error) => pointingToHelp(error, called),
      () => readInvocation(command, ownArgv),
    )
    // Only now is it known whose --json it was: in `stint run npm ls --json` it is npm's.
    reply.json = !invocation.stream && (invocation.json || (isJsonByDefault && !invocation.quiet))
    reply.quiet = invocation.quiet
    reply.verbose = invocation.verbose
    if (invocation.help) return await printHelp(command, called)
    if (invocation.verbose) await noteDirectories(reply)
    if (command.bare) return await executeBare(command, invocation, reply, interruptions)
    // Loaded here, with node:child_process behind it, because a bare command needs neither.
    const { execute } = await import('./execute.ts')
    return await execute(command, invocation, reply, interruptions)
  } catch (error) {
    return reply.give({ error: asStintError(error) })
  }
}

/** Only a mistake on the command line is explained by --help: a library may throw `ARG_ERROR`, too. */
function pointingToHelp(error: unknown, called: string): unknown {
  if (!(error instanceof StintError) || error.code !== 'ARG_ERROR' || error.options.hint !== undefined)
    return error
  const hint = `Run \`${called} --help\` to see what it takes.`
  return new StintError(error.code, error.message, { ...error.options, cause: error, hint })
}

function print(text: string): number {
  if (writeOut(1, text)) return 0
  throw new StintError('DISK_FULL', 'cannot write to stdout: no space left')
}

/** A single command may have a -v of its own. */
const asksForVersion = (target: Command | CommandGroup, [first]: readonly string[]): boolean =>
  first === '--version' || (first === '-v' && isGroup(target))

async function printHelp(target: Command | CommandGroup, called: string, all = false): Promise<number> {
  const { helpFor } = await import('./help.ts')
  return print(await helpFor(target, { called, fd: 1, all }))
}

/** Answers a group that was called without a command: a person is shown its help. */
async function refuseGroup(group: CommandGroup, called: string, reply: Reply): Promise<number> {
  const error = noCommand(group)
  if (reply.json) return reply.give({ error })
  const { helpFor } = await import('./help.ts')
  writeOut(2, await helpFor(group, { called, fd: 2, all: false }))
  return error.exit
}

/** Is the answer an envelope also without --json? */
async function isJsonPreferred(output: 'auto' | 'text'): Promise<boolean> {
  const { STINT_OUTPUT: format = '' } = process.env
  if (format !== '') {
    if (format === 'json' || format === 'text') return format === 'json'
    throw new StintError('ARG_ERROR', `STINT_OUTPUT is json or text, not ${JSON.stringify(format)}`)
  }
  return output === 'auto' && !(await isTerminal(1))
}

/** Looks for --json before anything is parsed, so that even an error in the arguments is answered in JSON. */
function hasJsonFlag(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json')
}

/** Prints, with --verbose, which process this is and which directories it uses. */
async function noteDirectories(reply: Reply): Promise<void> {
  const { findTmp } = await import('../scratch/index.ts')
  const origin = (variable: string): string => (process.env[variable] ? ` (${variable})` : '')
  reply.note(`run ${reply.meta.request_id}, pid ${process.pid}, node ${process.version}`)
  reply.note(`home ${pathOrProblem(stintHome)}${origin('STINT_HOME')}`)
  reply.note(`temp directory ${pathOrProblem(findTmp)}${origin('STINT_TMP_ROOT')}`)
}

/** An invalid directory is an error only for a command that needs it. */
function pathOrProblem(find: () => string): string {
  try {
    return find()
  } catch (error) {
    return `none: ${errorMessage(error)}`
  }
}

/** Runs a bare command, which has no scratch and no children to end. Returns its exit code. */
async function executeBare(
  command: Command,
  invocation: Invocation,
  reply: Reply,
  interruptions: Interruptions,
): Promise<number> {
  const interruption = interruptions.follow({
    onSecondInterrupt: (error) => process.exit(reply.give({ error })),
    onLaterError: (error) => reply.warn(error.message),
  })
  const stop = new StopSignal()
  const context = makeBareContext(reply, stop, invocation.stream ? invocation.json : reply.json)
  const handler = outcomeOf(() => command.run(context as never, invocation.args as never))
  const first = await Promise.race([handler, interruption])
  if ('signal' in first) {
    reply.meta.partial = true
    stop.stop(first.error)
    // A stream ends when its user stops it: that is not an error worth a message.
    if (invocation.stream && first.error.code === 'CANCELLED') {
      // The terminal has printed ^C: the prompt of the shell shall begin on the next line.
      if (first.signal === 'SIGINT' && columnsOf(2) !== undefined) writeOut(2, '\n')
      return first.error.exit
    }
    // The handler may have to undo what it has half done.
    if (stop.wasRead) await Promise.race([handler, after(invocation.graceMs)])
    return reply.give({ error: first.error })
  }
  const { args, stream } = invocation
  // A stream has printed its answer already.
  return reply.give(first, (data) =>
    stream ? undefined : command.render?.(data as never, context.screen, args as never),
  )
}
