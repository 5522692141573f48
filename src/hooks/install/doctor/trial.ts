import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codedError } from '../../../base/errors/stint-error.ts'
import { type ProgramExit, runProgram } from '../../../base/process/run-program.ts'
import type { SettingsAgentName, TargetName } from '../../hosts/host.ts'
import { acquireLease, homeStore } from '../../../lease/index.ts'
import { isHostVariable } from '../agents.ts'
import { guardEvents, guardIn } from '../git/guard-text.ts'
import { describeLoginShell } from '../git/shim.ts'
import { type HostSettings, hostSettings } from '../host-settings.ts'
import { type Installation, isShim, type Problem } from '../inspect.ts'
import { findOnPath } from '../own-program.ts'
import { withoutWait } from '../settings/command-text.ts'
import { readSettingsFile } from '../settings/settings-file.ts'

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
  try {
    return await groundIn(directory)
  } catch (error) {
    throw codedError(error, `prepare a trial in ${directory}`)
  }
}

async function groundIn(directory: string): Promise<TrialGround> {
  const ground = {
    home: join(directory, 'home'),
    free: join(directory, 'free'),
    held: join(directory, 'held'),
  }
  for (const path of [ground.free, ground.held]) mkdirSync(path, { mode: 0o700 })
  // The holder has no process: this one is an ancestor of the hook, which would take it for its own session.
  await acquireLease({
    workspace: ground.held,
    sessionId: holder,
    pid: null,
    purpose: 'the trial of stint doctor',
    store: homeStore({ STINT_HOME: ground.home }),
  })
  return ground
}

/** The environment of a trial, without the variables of an agent around this process or of a bypass. */
function trialEnv({ home }: Pick<TrialGround, 'home'>): NodeJS.ProcessEnv {
  const isOwn = (name: string): boolean => !name.startsWith('STINT_') && !isHostVariable(name)
  const own = Object.entries(process.env).filter(([name]) => isOwn(name))
  return { ...Object.fromEntries(own), STINT_HOME: home }
}

/** Runs an installed hook as its host would; describes what is wrong, or returns undefined if it works. */
export async function tryHook(
  installation: Installation,
  ground: TrialGround,
): Promise<string | Problem | undefined> {
  const { run, isRefusal } = runners[installation.agent]
  const env = trialEnv(ground)
  if (installation.commands.length === 0) return undefined
  const free = await run({ ...installation, cwd: ground.free, env, refuses: false })
  const held = await run({ ...installation, cwd: ground.held, env, refuses: true })
  if (isRefusal(free)) return `it refuses a call although no session holds the workspace${said(free)}`
  if (free.code !== 0) return `it ends with ${free.code ?? 'no'} exit code, not 0${said(free)}`
  if (!isRefusal(held)) return `it allows a call although another session holds the workspace${said(held)}`
  const names = held.stdout.includes(holder) || held.stderr.includes(holder)
  if (names && isShim(installation)) return await describeLoginShell(installation.path)
  return names ? undefined : `it refuses a call, but does not name the holder of the workspace${said(held)}`
}

const said = ({ stderr }: ProgramExit): string => {
  const line = stderr.trim().split('\n')[0] ?? ''
  return line === '' ? '' : `: ${line}`
}

/** A trial of installed hooks, of which the first can refuse a call. */
interface HookTrial extends Pick<Installation, 'commands'> {
  cwd: string
  env: NodeJS.ProcessEnv
  /** The hooks should refuse the call. */
  refuses: boolean
}

/** Runs hooks as their host would, and tells a refusal. */
interface HookRunner {
  run(trial: HookTrial): Promise<ProgramExit>
  isRefusal(exit: ProgramExit): boolean
}

/** The session whose calls are tried. */
const trialSession = 'ses-trial'

const settingsRunner = ({ trialEvent, isRefusal }: HostSettings): HookRunner => ({
  run: ({ commands, cwd, env }) =>
    runLine(
      withoutWait(commands[0]?.text ?? ''),
      [],
      cwd,
      JSON.stringify(trialEvent(cwd, trialSession)),
      env,
    ),
  isRefusal,
})

/** Runs the shim with a command that changes something, before a git that does nothing. */
function runShim(path: string, cwd: string, env: NodeJS.ProcessEnv): Promise<ProgramExit> {
  const bin = join(cwd, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'git'), '#!/bin/sh\n', { mode: 0o700 })
  return run('/bin/sh', [path, 'commit'], cwd, '', { ...env, PATH: `${bin}:${env.PATH}` })
}

/** Runs only the guards: the rest of a git hook belongs to the user, and must not run for a trial. */
const gitRunner: HookRunner = {
  async run({ commands, cwd, env, refuses }) {
    if (commands[0]?.event === 'shim') return await runShim(commands[0].text, cwd, env)
    const refusing = guardEvents.filter(({ kind }) => kind === 'pre')
    const runs: ProgramExit[] = []
    for (const { event, text } of commands) {
      if (!refusing.some(({ name }) => name === event)) continue
      const guard = guardIn(readSettingsFile(text).bytes?.toString() ?? '') ?? 'exit 127'
      runs.push(await runLine(guard, [text, 'prepared'], cwd, transaction, env))
    }
    // Report the guard that is wrong, if any.
    const wrong = runs.find(({ code }) => (code === 0) === refuses)
    return wrong ?? runs[0] ?? { code: null, stdout: '', stderr: '' }
  },
  isRefusal: ({ code }) => code !== 0,
}

const transaction = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/trial\n`

/** OpenCode loads the plugin into its own process; the plugin refuses a call by throwing. */
const pluginRunner: HookRunner = {
  async run({ commands, cwd, env }) {
    const program = join(cwd, 'plugin-trial.mjs')
    const plugin = readSettingsFile(commands[0]?.text ?? '').bytes?.toString() ?? ''
    writeFileSync(program, `${withoutWaiting(plugin)}${pluginCall}`)
    const opencode = findOnPath('opencode', env)
    // Try the plugin in OpenCode's own runtime, Bun, whose clocks differ from Node's.
    if (opencode !== undefined && (await isBun(opencode, cwd, env)))
      return await run(opencode, ['run', program], cwd, '', asBun(env))
    return await run(process.execPath, [program], cwd, '', env)
  },
  isRefusal: ({ code }) => code === 2,
}

/** The trial expects a refusal at once. */
const withoutWaiting = (plugin: string): string =>
  plugin.replace(/"waitMs":\d+,?/, '').replace('stintPlugin({', 'stintPlugin({"waitMs":0,')

const pluginCall = `
const hooks = await stint({ directory: process.cwd() })
const call = { tool: 'bash', sessionID: '${trialSession}', callID: 'call-trial' }
await hooks['tool.execute.before'](call, { args: { command: 'make' } }).catch((error) => {
  console.error(error.message)
  process.exitCode = 2
})
`

/** OpenCode is a single executable that contains Bun; this variable makes it act as Bun. */
const asBun = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...env, BUN_BE_BUN: '1' })

async function isBun(opencode: string, cwd: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const { stdout } = await run(opencode, ['-e', 'console.log("bun", Bun.version)'], cwd, '', asBun(env))
  return /^bun \d/.test(stdout)
}

/** Runs a line of shell as agents do, with an event on its stdin. */
const runLine = (
  line: string,
  args: string[],
  cwd: string,
  input: string,
  env: NodeJS.ProcessEnv,
): Promise<ProgramExit> => run('/bin/sh', ['-c', line, ...args], cwd, input, env)

const run = (
  command: string,
  args: readonly string[],
  cwd: string,
  input: string,
  env: NodeJS.ProcessEnv,
): Promise<ProgramExit> => runProgram(command, args, { cwd, env, input, timeoutMs: 10_000 })

const runners: Readonly<Record<TargetName, HookRunner>> = {
  ...(Object.fromEntries(
    Object.entries(hostSettings).map(([agent, settings]) => [agent, settingsRunner(settings)]),
  ) as Record<SettingsAgentName, HookRunner>),
  opencode: pluginRunner,
  git: gitRunner,
}
