import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { acquireLeaseSync, fileRegister, findWorkspace } from '../../lease/index.ts'
import { guardIn } from '../git/guard-text.ts'
import type { Installation } from '../inspect.ts'
import type { SettingsAgent } from '../agent.ts'
import { readSettings } from '../settings/settings-file.ts'
import { type Ended, isDenied } from './denied.ts'
import { runPlugin } from './plugin-trial.ts'
import { ended } from './start.ts'
import { trialEvent } from './trial-event.ts'

/** A home and workspaces that only the trial knows: no claim of anybody's is touched. */
export interface TrialGround {
  home: string
  /** Nobody holds it. */
  free: string
  /** Another session does. */
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
  // Held by no process: one of ours would be an ancestor of the hook, and so its own session.
  acquireLeaseSync({
    workspace: findWorkspace(ground.held),
    sessionId: holder,
    pid: null,
    purpose: 'the trial of stint hook doctor',
    register: fileRegister(join(ground.home, 'locks')),
  })
  return ground
}

/** Without what says that we are inside an agent ourselves, or that nothing is to be refused. */
export function trialEnv({ home }: Pick<TrialGround, 'home'>): NodeJS.ProcessEnv {
  const foreign = /^(?:STINT_|CLAUDE|CODEX_|CURSOR_|GEMINI_|COPILOT_|GIT_)/
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return { ...Object.fromEntries(own), STINT_HOME: home }
}

/** Starts a line of shell as agents do, with an event on its stdin. */
export const runLine = (
  line: string,
  args: string[],
  cwd: string,
  input: string,
  env: NodeJS.ProcessEnv,
): Ended => ended('/bin/sh', ['-c', line, ...args], cwd, input, env)

/** What is wrong with an installed hook, tried out as its host would use it; undefined if it does what it should. */
export function tryOut(installation: Installation, ground: TrialGround): string | undefined {
  const { agent } = installation
  const free = attempt(installation, ground, ground.free)
  const held = attempt(installation, ground, ground.held)
  if (free === undefined || held === undefined) return undefined
  if (isDenied(agent, free)) return `it refuses although nobody holds the workspace${said(free)}`
  if (free.code !== 0) return `it ends with ${free.code ?? 'no'} exit code, not 0${said(free)}`
  if (!isDenied(agent, held))
    return `it lets a call pass although another session holds the workspace${said(held)}`
  const names = held.stdout.includes(holder) || held.stderr.includes(holder)
  return names ? undefined : `it refuses, but does not say who holds the workspace${said(held)}`
}

const said = ({ stderr }: Ended): string => {
  const line = stderr.trim().split('\n')[0] ?? ''
  return line === '' ? '' : `: ${line}`
}

function attempt({ agent, commands }: Installation, ground: TrialGround, cwd: string): Ended | undefined {
  const env = trialEnv(ground)
  const [pre] = commands
  if (pre === undefined) return undefined
  if (agent === 'opencode') return runPlugin(pre.text, cwd, env)
  if (agent !== 'git')
    return runLine(pre.text, [], cwd, trialEvent(agent as SettingsAgent, cwd, 'ses-trial'), env)
  // Only the guard: what others have in their hooks is not to be run for a trial.
  const runs = commands.map(({ text }) => {
    const guard = guardIn(readSettings(text).bytes?.toString() ?? '') ?? 'exit 127'
    return runLine(guard, [text, 'prepared'], cwd, transaction, env)
  })
  const outcome =
    cwd === ground.held ? runs.find(({ code }) => code === 0) : runs.find(({ code }) => code !== 0)
  return outcome ?? runs[0]
}

const transaction = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/trial\n`
