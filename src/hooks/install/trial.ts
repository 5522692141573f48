import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codedError } from '../../base/errors/stint-error.ts'
import { type ProgramExit, runProgram } from '../../base/process/run-program.ts'
import { acquireLease, homeStore } from '../../lease/index.ts'
import type { SettingsAgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { isHostVariable } from './agents.ts'
import { withoutWait } from './command-text.ts'
import { guardIn } from './guard.ts'
import { type Installation, isShim } from './inspect.ts'
import { readSettingsFile } from './settings-file.ts'

/** A home and two workspaces made for the trial, so that it touches no claim of the user's. */
interface TrialGround {
  home: string
  /** A workspace that no session holds. */
  free: string
  /** A workspace that another session holds. */
  held: string
}

const holder = 'stint-doctor'

/** Makes the ground of a trial in an empty directory; an error names the directory. */
export async function prepareGround(directory: string): Promise<TrialGround> {
  const [home, free, held] = ['home', 'free', 'held'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  try {
    for (const path of [free, held]) mkdirSync(path, { mode: 0o700 })
    // The holder has no process: this one is an ancestor of the hook, and would be taken for its session.
    await acquireLease({
      workspace: held,
      sessionId: holder,
      pid: null,
      purpose: 'the trial of stint doctor',
      store: homeStore({ STINT_HOME: home }),
    })
    return { home, free, held }
  } catch (error) {
    throw codedError(error, `prepare a trial in ${directory}`)
  }
}

/** Runs an installed hook as its host would; describes what is wrong, or returns undefined if it works. */
export async function tryHook(installation: Installation, ground: TrialGround): Promise<string | undefined> {
  if (installation.commands.length === 0) return undefined
  // Without the variables of an agent around this process, or of a bypass.
  const isOwn = (name: string): boolean => !name.startsWith('STINT_') && !isHostVariable(name)
  const own = Object.entries(process.env).filter(([name]) => isOwn(name))
  const env = { ...Object.fromEntries(own), STINT_HOME: ground.home }
  const free = await runHook(installation, { cwd: ground.free, env })
  const held = await runHook(installation, { cwd: ground.held, env })
  if (isRefusal(free)) return `it refuses a call although no session holds the workspace${said(free)}`
  if (free.code !== 0) return `it ends with ${free.code ?? 'no'} exit code, not 0${said(free)}`
  if (!isRefusal(held)) return `it allows a call although another session holds the workspace${said(held)}`
  if (held.stdout.includes(holder) || held.stderr.includes(holder)) return undefined
  return `it refuses a call, but does not name the holder of the workspace${said(held)}`
}

/** Exit code 2 refuses in every agent, if stderr gives a reason; 1 is that of git's guards. */
const isRefusal = ({ code, stdout, stderr }: ProgramExit): boolean =>
  code === 2 || code === 1
    ? stderr.trim() !== ''
    : /"(?:permissionDecision|permission|decision)":"deny"/.test(stdout)

const said = ({ stderr }: ProgramExit): string => {
  const line = stderr.trim().split('\n')[0] ?? ''
  return line === '' ? '' : `: ${line}`
}

/** Where a hook is tried. */
interface Trial {
  cwd: string
  env: NodeJS.ProcessEnv
}

function runHook(installation: Installation, trial: Trial): Promise<ProgramExit> {
  const { agent, commands } = installation
  const [first = { event: '', text: '' }] = commands
  if (agent === 'opencode') return runPlugin(first.text, trial)
  if (isShim(installation)) return runShim(first.text, trial)
  return agent === 'git' ? runGuard(first.text, trial) : runCommand(agent, first.text, trial)
}

/** The session whose calls are tried. */
const trialSession = 'ses-trial'

/** Runs a command of an agent's settings with the event that the agent sends before a shell command. */
function runCommand(agent: SettingsAgentName, line: string, { cwd, env }: Trial): Promise<ProgramExit> {
  const { fields, events, shells } = hosts[agent]
  const event = {
    [fields.session[0] ?? '']: trialSession,
    // Claude Code is told by this from the agents that run its hooks as well.
    transcript_path: '',
    [fields.directory[0] ?? '']: cwd,
    [fields.event[0] ?? '']: events[0]?.name,
    [fields.tool[0] ?? '']: shells[0],
    // The hook lets commands that only read pass.
    [fields.input[0] ?? '']: { command: 'make' },
  }
  return run('/bin/sh', ['-c', withoutWait(line)], { cwd, env }, JSON.stringify(event))
}

/** Runs the shim with a command that changes something, before a git that does nothing. */
function runShim(path: string, { cwd, env }: Trial): Promise<ProgramExit> {
  const bin = join(cwd, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'git'), '#!/bin/sh\n', { mode: 0o700 })
  return run('/bin/sh', [path, 'commit'], { cwd, env: { ...env, PATH: `${bin}:${env.PATH}` } })
}

const transaction = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/trial\n`

/** Runs only the guard: the rest of a git hook belongs to the user, and must not run for a trial. */
function runGuard(path: string, trial: Trial): Promise<ProgramExit> {
  const guard = guardIn(readSettingsFile(path).bytes?.toString() ?? '') ?? 'exit 127'
  return run('/bin/sh', ['-c', guard, path, 'prepared'], trial, transaction)
}

/** OpenCode loads the plugin into its own process; the plugin refuses a call by throwing. */
function runPlugin(path: string, { cwd, env }: Trial): Promise<ProgramExit> {
  const program = join(cwd, 'plugin-trial.mjs')
  const plugin = readSettingsFile(path).bytes?.toString() ?? ''
  // The trial expects a refusal at once.
  const impatient = plugin.replace(/"waitMs":\d+,?/, '').replace('stintPlugin({', 'stintPlugin({"waitMs":0,')
  writeFileSync(program, `${impatient}${pluginCall}`)
  return run(process.execPath, [program], { cwd, env })
}

const pluginCall = `
const hooks = await stint({ directory: process.cwd() })
const call = { tool: 'bash', sessionID: '${trialSession}', callID: 'call-trial' }
await hooks['tool.execute.before'](call, { args: { command: 'make' } }).catch((error) => {
  console.error(error.message)
  process.exitCode = 2
})
`

const run = (
  command: string,
  args: readonly string[],
  { cwd, env }: Trial,
  input = '',
): Promise<ProgramExit> => runProgram(command, args, { cwd, env, input, timeoutMs: 10_000 })
