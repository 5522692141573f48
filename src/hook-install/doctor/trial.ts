import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { explained, ifPossible } from '../../base/errors/if-possible.ts'
import { codedError } from '../../base/errors/stint-error.ts'
import { readLastLines } from '../../base/fs/regular-file.ts'
import type { ProgramExit } from '../../base/process/run-program.ts'
import { hosts } from '../../hook/hosts.ts'
import { acquireLeaseSync, fileRegister, findWorkspace } from '../../lease/index.ts'
import { isHostVariable } from '../agents.ts'
import { describeLoginShell } from '../git/shim.ts'
import { hostSettings, isSettingsAgent } from '../host-settings.ts'
import { type Installation, isShim } from '../inspect.ts'
import { withoutWait } from '../settings/command-text.ts'
import type { Problem } from './examine.ts'
import { hookRunner, runLine, trialSession } from './run-hook.ts'

/** A home and two workspaces made for the trial, so that it touches no claim of the user's. */
export interface TrialGround {
  home: string
  /** A workspace that no session holds. */
  free: string
  /** A workspace that another session holds. */
  held: string
}

const holder = 'stint-doctor'

/** A directory that cannot be used is the user's to look at: its error says which. */
const inTrial = <Result>(doing: string, act: () => Result): Result =>
  explained((error) => codedError(error, doing), act)

export function prepareGround(directory: string): TrialGround {
  return inTrial(`prepare a trial in ${directory}`, () => groundIn(directory))
}

function groundIn(directory: string): TrialGround {
  const ground = {
    home: join(directory, 'home'),
    free: join(directory, 'free'),
    held: join(directory, 'held'),
  }
  for (const path of [ground.home, join(ground.home, 'locks'), ground.free, ground.held])
    mkdirSync(path, { mode: 0o700 })
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
  const isOwn = (name: string): boolean => !name.startsWith('STINT_') && !isHostVariable(name)
  const own = Object.entries(process.env).filter(([name]) => isOwn(name))
  return { ...Object.fromEntries(own), STINT_HOME: home }
}

/** Runs an installed hook as its host would; describes what is wrong, or returns undefined if it works. */
export async function tryHook(
  installation: Installation,
  ground: TrialGround,
): Promise<string | Problem | undefined> {
  const { run, isRefusal } = hookRunner(installation.agent)
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

/**
 * Tells whether a call of the session that holds the workspace leaves a mark and starts no Node; undefined if
 * this agent's hooks always start Node. The session edits a file, which Node grants, and then edits it again.
 */
export async function passesWithoutNode(
  { agent, commands, choices }: Installation,
  ground: TrialGround,
): Promise<boolean | undefined> {
  const isFast = process.platform === 'linux' && isSettingsAgent(agent) && hosts[agent].usesScript
  if (!isFast || choices.record || commands.length === 0) return undefined
  const [started, noteStart] = ['started', 'note-start.cjs'].map((name) => join(ground.home, name))
  const noting = `require('node:fs').writeFileSync(${JSON.stringify(started)}, '')\n`
  inTrial(`write ${noteStart}`, () => writeFileSync(noteStart ?? '', noting))
  // Every Node that starts in this environment writes the file first.
  const env = { ...trialEnv(ground), NODE_OPTIONS: `--require ${JSON.stringify(noteStart)}` }
  const line = withoutWait(commands[0]?.text ?? '')
  const edit = (id: string): Promise<ProgramExit> => {
    const call = { tool_name: 'Write', tool_input: { file_path: join(ground.free, 'a') }, tool_use_id: id }
    const event = { ...hostSettings[agent].trialEvent(ground.free, trialSession), ...call }
    return runLine(line, [], ground.free, JSON.stringify(event), env)
  }
  await edit('toolu_granted')
  inTrial(`remove ${started}`, () => rmSync(started ?? '', { force: true }))
  const { code } = await edit('toolu_marked')
  return code === 0 && !existsSync(started ?? '') && hasMark(ground, '+toolu_marked ')
}

function hasMark({ home }: TrialGround, start: string): boolean {
  const directory = join(home, 'passes', trialSession)
  const names = ifPossible(() => readdirSync(directory)) ?? []
  const linesOf = (name: string): string[] => readLastLines(join(directory, name), undefined, 'throwOnError')
  const lines = inTrial(`read ${directory}`, () => names.flatMap(linesOf))
  return lines.some((line) => line.startsWith(start))
}

const said = ({ stderr }: ProgramExit): string => {
  const line = stderr.trim().split('\n')[0] ?? ''
  return line === '' ? '' : `: ${line}`
}
