import { newRequestId } from '../base/text/id.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { Reply } from './reply.ts'
import { asStintError } from './envelope.ts'
import { executeBare } from './execute-bare.ts'
import { explainPlaces } from './log-locations.ts'
import { Interruptions } from './interruption.ts'
import { isTerminal } from './is-terminal.ts'
import { readInvocation } from './runtime-flags.ts'
import { isGroup, noCommand, selectCommand } from './select.ts'
import type { Command, CommandGroup } from './define-command.ts'
import { writeOut } from '../base/process/write-output.ts'

export interface RunMainOptions {
  /** The arguments; by default this process's own. */
  argv?: readonly string[]
}

/**
 * Runs a command as this process: scratch, signals, timeout, teardown, one envelope, exit code. Does not return.
 *
 * @example
 * await runMain(build)
 */
export async function runMain(target: Command | CommandGroup, options: RunMainOptions = {}): Promise<never> {
  // Before anything else: a signal that comes now is answered when there is a run to end.
  const interruptions = new Interruptions()
  const argv = options.argv ?? process.argv.slice(2)
  const answer = new Reply(target.name, newRequestId())
  answer.json = asksForJson(argv)
  process.exit(await main(target, argv, answer, interruptions))
}

async function main(
  target: Command | CommandGroup,
  argv: readonly string[],
  answer: Reply,
  interruptions: Interruptions,
): Promise<number> {
  try {
    if (argv[0] === '--version' && target.version !== undefined) return print(`${target.version}\n`)
    const selected = await selectCommand(target, argv, (called) => (answer.name = called))
    const { target: command, called, argv: own, help } = selected
    if (help) return await printHelp(command, called)
    if (isGroup(command)) return await refuseGroup(command, called, answer)
    const auto = command.envelope !== 'on-request' && !(await isTerminal(1))
    answer.json ||= auto
    const invocation = readInvocation(command, own)
    // Only now is it known whose --json it was: `stint run npm ls --json` asks npm.
    answer.json = !invocation.stream && (invocation.json || (auto && !invocation.quiet))
    answer.quiet = invocation.quiet
    answer.verbose = invocation.verbose
    if (invocation.help) return await printHelp(command, called)
    if (invocation.verbose) explainPlaces(answer)
    if (command.bare) return await executeBare(command, invocation, answer, interruptions)
    // Loaded here, with node:child_process behind it, since a bare command needs neither.
    const { execute } = await import('./execute.ts')
    return await execute(command, invocation, answer, interruptions)
  } catch (error) {
    return answer.give({ error: asStintError(error) })
  }
}

function print(text: string): number {
  if (writeOut(1, text)) return 0
  throw new StintError('DISK_FULL', 'cannot write to stdout: no space left')
}

async function printHelp(target: Command | CommandGroup, called: string): Promise<number> {
  const { helpFor } = await import('./help.ts')
  return print(await helpFor(target, called, 1))
}

/** Answers a group that was called without a command; a person is shown its commands as well. */
async function refuseGroup(group: CommandGroup, called: string, reply: Reply): Promise<number> {
  const exit = reply.give({ error: noCommand(group) })
  if (reply.json) return exit
  const { helpFor } = await import('./help.ts')
  writeOut(2, `\n${await helpFor(group, called, 2)}`)
  return exit
}

/** Known before anything is parsed, so that a bad argument, too, is answered in the form that was asked for. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json')
}
