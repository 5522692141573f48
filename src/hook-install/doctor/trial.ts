import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseObject } from '../../base/text/fields.ts'
import type { AgentName } from '../../hook/hosts.ts'
import { acquireLeaseSync, fileRegister, findWorkspace } from '../../lease/index.ts'
import type { SettingsAgent } from '../agents.ts'
import { guardIn } from '../git/guard-text.ts'
import { findOnPath } from '../hook-program.ts'
import type { Installation } from '../inspect.ts'
import { objectOr } from '../json/parse.ts'
import { readSettingsFile } from '../settings/settings-file.ts'
import { trialEvent } from './trial-event.ts'

/** A home and two workspaces made for the trial, so that it touches no claim of the user's. */
export interface TrialGround {
  home: string
  /** A workspace that no session holds. */
  free: string
  /** A workspace that another session holds. */
  held: string
}

const holder = 'stint-doctor'

export function prepareGround(directory: string): TrialGround {
  const ground = {
    home: join(directory, 'home'),
    free: join(directory, 'free'),
    held: join(directory, 'held'),
  }
  for (const path of [ground.home, join(ground.home, 'locks'), ground.free, ground.held])
    mkdirSync(path, { recursive: true, mode: 0o700 })
  // The holder has no process: this one is an ancestor of the hook, which would take it for its own session.
  acquireLeaseSync({
    workspace: findWorkspace(ground.held),
    sessionId: holder,
    pid: null,
    purpose: 'the trial of stint hook doctor',
    register: fileRegister(join(ground.home, 'locks')),
  })
  return ground
}

/** The environment of a trial, without the variables of an agent around this process or of a bypass. */
export function trialEnv({ home }: Pick<TrialGround, 'home'>): NodeJS.ProcessEnv {
  const foreign = /^(?:STINT_|CLAUDE|CODEX_|CURSOR_|GEMINI_|COPILOT_|GIT_)/
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return { ...Object.fromEntries(own), STINT_HOME: home }
}

/** Runs an installed hook as its host would; describes what is wrong, or returns undefined if it works. */
export function tryHook(installation: Installation, ground: TrialGround): string | undefined {
  const { agent } = installation
  const free = runHookIn(installation, ground, ground.free)
  const held = runHookIn(installation, ground, ground.held)
  if (free === undefined || held === undefined) return undefined
  if (isRefusal(agent, free)) return `it refuses a call although no session holds the workspace${said(free)}`
  if (free.code !== 0) return `it ends with ${free.code ?? 'no'} exit code, not 0${said(free)}`
  if (!isRefusal(agent, held))
    return `it allows a call although another session holds the workspace${said(held)}`
  const names = held.stdout.includes(holder) || held.stderr.includes(holder)
  return names ? undefined : `it refuses a call, but does not name the holder of the workspace${said(held)}`
}

const said = ({ stderr }: HookExit): string => {
  const line = stderr.trim().split('\n')[0] ?? ''
  return line === '' ? '' : `: ${line}`
}

function runHookIn(
  { agent, commands }: Installation,
  ground: TrialGround,
  cwd: string,
): HookExit | undefined {
  const env = trialEnv(ground)
  const [pre] = commands
  if (pre === undefined) return undefined
  if (agent === 'opencode') return runPlugin(pre.text, cwd, env)
  if (agent !== 'git')
    return runLine(pre.text, [], cwd, trialEvent(agent as SettingsAgent, cwd, 'ses-trial'), env)
  // Run only the guard: the rest of a git hook belongs to the user, and must not run for a trial.
  const runs = commands.map(({ text }) => {
    const guard = guardIn(readSettingsFile(text).bytes?.toString() ?? '') ?? 'exit 127'
    return runLine(guard, [text, 'prepared'], cwd, transaction, env)
  })
  const outcome =
    cwd === ground.held ? runs.find(({ code }) => code === 0) : runs.find(({ code }) => code !== 0)
  return outcome ?? runs[0]
}

const transaction = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/trial\n`

/** OpenCode loads the plugin into its own process; the plugin refuses a call by throwing. */
function runPlugin(path: string, cwd: string, env: NodeJS.ProcessEnv): HookExit {
  const program = join(cwd, 'plugin-trial.mjs')
  writeFileSync(program, `${readSettingsFile(path).bytes?.toString() ?? ''}${pluginCall}`)
  const opencode = findOnPath('opencode', env)
  // Try the plugin in OpenCode's own runtime, Bun, whose clocks differ from Node's.
  if (opencode !== undefined && isBun(opencode, cwd, env))
    return run(opencode, ['run', program], cwd, '', asBun(env))
  return run(process.execPath, [program], cwd, '', env)
}

const pluginCall = `
const hooks = await stint({ directory: process.cwd() })
const call = { tool: 'bash', sessionID: 'ses-trial', callID: 'call-trial' }
await hooks['tool.execute.before'](call, { args: { command: 'true' } }).catch((error) => {
  console.error(error.message)
  process.exitCode = 2
})
`

/** OpenCode is a single executable that contains Bun; this variable makes it act as Bun. */
const asBun = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...env, BUN_BE_BUN: '1' })

function isBun(opencode: string, cwd: string, env: NodeJS.ProcessEnv): boolean {
  const { stdout } = run(opencode, ['-e', 'console.log("bun", Bun.version)'], cwd, '', asBun(env))
  return /^bun \d/.test(stdout)
}

/** Runs a line of shell as agents do, with an event on its stdin. */
export const runLine = (
  line: string,
  args: string[],
  cwd: string,
  input: string,
  env: NodeJS.ProcessEnv,
): HookExit => run('/bin/sh', ['-c', line, ...args], cwd, input, env)

/** The end of a hook's process. */
interface HookExit {
  /** Null if a signal ended it. */
  code: number | null
  stdout: string
  stderr: string
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  input: string,
  env: NodeJS.ProcessEnv,
): HookExit {
  const options = { cwd, env, input, encoding: 'utf8', timeout: 10_000, killSignal: 'SIGKILL' } as const
  const { status, stdout, stderr } = spawnSync(command, args, options)
  return { code: status, stdout: stdout ?? '', stderr: stderr ?? '' }
}

/** True if the agent would refuse the call, by its documentation of exit codes and output. */
function isRefusal(agent: AgentName, { code, stdout, stderr }: HookExit): boolean {
  if (agent === 'git') return code !== 0
  if (agent === 'opencode') return code === 2
  const said = parseObject(stdout) ?? {}
  const output = objectOr(said.hookSpecificOutput)
  if (code === 2) return stderr.trim() !== ''
  if (agent === 'copilot' && code !== 0) return true
  if (agent === 'gemini') return said.decision === 'deny' || ((code ?? 0) > 2 && stdout + stderr !== '')
  if (agent === 'cursor') return code === 0 && said.permission === 'deny'
  if (agent === 'copilot') return said.permissionDecision === 'deny'
  return output.permissionDecision === 'deny'
}
