import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { explained } from '../../base/errors/if-possible.ts'
import { codedError } from '../../base/errors/stint-error.ts'
import type { ProgramExit } from '../../base/process/run-program.ts'
import { acquireLeaseSync, findWorkspace, homeRegister } from '../../lease/index.ts'
import { isHostVariable } from '../agents.ts'
import { describeLoginShell } from '../git/shim.ts'
import { type Installation, isShim, type Problem } from '../inspect.ts'
import { hookRunner } from './run-hook.ts'

/** A home and two workspaces made for the trial, so that it touches no claim of the user's. */
export interface TrialGround {
  home: string
  /** A workspace that no session holds. */
  free: string
  /** A workspace that another session holds. */
  held: string
}

const holder = 'stint-doctor'

/** Makes the ground of a trial in an empty directory; an error names the directory. */
export const prepareGround = (directory: string): TrialGround =>
  explained(
    (error) => codedError(error, `prepare a trial in ${directory}`),
    () => groundIn(directory),
  )

function groundIn(directory: string): TrialGround {
  const ground = {
    home: join(directory, 'home'),
    free: join(directory, 'free'),
    held: join(directory, 'held'),
  }
  for (const path of [ground.free, ground.held]) mkdirSync(path, { mode: 0o700 })
  // The holder has no process: this one is an ancestor of the hook, which would take it for its own session.
  acquireLeaseSync({
    workspace: findWorkspace(ground.held),
    sessionId: holder,
    pid: null,
    purpose: 'the trial of stint doctor',
    register: homeRegister({ STINT_HOME: ground.home }),
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

const said = ({ stderr }: ProgramExit): string => {
  const line = stderr.trim().split('\n')[0] ?? ''
  return line === '' ? '' : `: ${line}`
}
