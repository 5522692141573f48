import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { isString, parseObject } from '../../base/text/fields.ts'
import type { Installation, Problem } from './inspect.ts'
import { objectOr } from './parse-settings.ts'
import { findOnPath } from './own-program.ts'
import { readSettingsFile } from './settings-file.ts'

/**
 * Codex trusts each hook by a hash of its command, and silently runs none that is new or has changed since.
 * Only Codex can tell: `hooks/list` of `codex app-server` has the `trustStatus` of every hook that it reads.
 */

/** `unlisted`: Codex does not read the file. `unknown`: Codex could not be asked. */
export type CodexTrust = 'trusted' | 'untrusted' | 'modified' | 'disabled' | 'unlisted' | 'unknown'

/** Milliseconds that Codex gets for its answer; it needs about 300. */
const patienceMs = 5000

/** Milliseconds that Codex gets to end by itself; it needs about 50. */
const graceMs = 1000

/** Asks Codex whether it runs stint's hooks in the settings file at `path`, in a session in `workspace`. */
export async function askCodexTrust(
  path: string,
  workspace: string,
  withinMs: number = patienceMs,
): Promise<CodexTrust> {
  const hooks = await listHooks(workspace, withinMs)
  if (hooks === undefined) return 'unknown'
  const files = new Set([path, readSettingsFile(path).real])
  const isOurs = ({ sourcePath, command }: ListedHook): boolean =>
    files.has(sourcePath) && command.includes('stint-hook')
  const ours = hooks.filter(isOurs)
  if (ours.length === 0) return 'unlisted'
  if (ours.some(({ enabled }) => !enabled)) return 'disabled'
  const untrusted = ours.find(({ trustStatus }) => trustStatus !== 'trusted' && trustStatus !== 'managed')
  if (untrusted === undefined) return 'trusted'
  return ours.some(({ trustStatus }) => trustStatus === 'modified') ? 'modified' : 'untrusted'
}

/** Asks Codex about installed hooks; undefined if they are not Codex's. */
export const trustOf = async (
  { agent, path, commands }: Pick<Installation, 'agent' | 'path' | 'commands'>,
  workspace: string,
): Promise<CodexTrust | undefined> =>
  agent === 'codex' && commands.length > 0 ? await askCodexTrust(path, workspace) : undefined

/** What keeps Codex from running the hooks, or may; undefined if nothing does. */
export const describeTrust = (trust: CodexTrust | undefined): Problem | undefined => trust && obstacles[trust]

const press = 'start Codex, enter /hooks and press t'

const obstacles: Readonly<Record<CodexTrust, Problem | undefined>> = {
  trusted: undefined,
  untrusted: { problem: 'Codex does not run these hooks, as you have not trusted them yet', fix: press },
  modified: {
    problem: 'Codex does not run the hooks that have changed since you trusted them, and so refuses no call',
    fix: press,
  },
  disabled: {
    problem: 'Codex does not run all of these hooks: some are switched off',
    fix: 'enter /hooks in Codex',
  },
  unlisted: {
    problem: 'Codex does not read these hooks: it reads those of a project only if you trust the project',
    fix: 'start Codex in the project and trust it, then enter /hooks and press t',
  },
  unknown: { problem: 'it is not known whether Codex trusts these hooks', fix: press },
}

/** A hook in the answer of Codex 0.166.0, as far as it matters here. */
interface ListedHook {
  sourcePath: string
  command: string
  enabled: boolean
  trustStatus: string
}

/** The hooks that Codex reads in a directory; undefined if it is not installed, or gives no valid answer. */
async function listHooks(cwd: string, withinMs: number): Promise<ListedHook[] | undefined> {
  const program = findOnPath('codex')
  const answer = program === undefined ? undefined : await askAppServer(program, cwd, withinMs)
  const { data } = objectOr(answer?.result)
  if (!Array.isArray(data)) return undefined
  return data
    .map(objectOr)
    .flatMap(({ hooks }) => (Array.isArray(hooks) ? hooks.map(objectOr) : []))
    .map(({ sourcePath, command, enabled, trustStatus }) => ({
      sourcePath: isString(sourcePath) ? sourcePath : '',
      command: isString(command) ? command : '',
      enabled: enabled !== false,
      trustStatus: isString(trustStatus) ? trustStatus : '',
    }))
}

/** Starts Codex as an editor would, asks, and ends it; undefined if there is no answer in time. */
async function askAppServer(program: string, cwd: string, withinMs: number): Promise<Answer | undefined> {
  // A group of its own: `codex` of npm is a script that starts the real program.
  const child = spawn(program, ['app-server'], { cwd, detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
  const closed = new Promise((resolve) => child.once('error', resolve).once('close', resolve))
  const end = (): void => void ifPossible(() => process.kill(-(child.pid ?? Number.NaN), 'SIGKILL'))
  process.once('exit', end)
  // The output of a program that is ended ends, too.
  const limit = setTimeout(end, withinMs)
  // A program that ends early closes the pipe.
  child.stdin.on('error', () => {})
  child.stdin.write(question(cwd))
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const message = parseObject(line)
      if (message?.id === questionId) return message
    }
    return undefined
  } finally {
    // Codex ends when its input does.
    child.stdin.end()
    await Promise.race([closed, delay(graceMs, undefined, { ref: false })])
    clearTimeout(limit)
    end()
    process.off('exit', end)
  }
}

type Answer = Readonly<Record<string, unknown>>

const questionId = 2

function question(cwd: string): string {
  const clientInfo = { name: 'stint', title: 'stint', version: '0' }
  const messages = [
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: questionId, method: 'hooks/list', params: { cwds: [cwd] } },
  ]
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('')
}
