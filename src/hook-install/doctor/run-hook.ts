import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ProgramExit, runProgram } from '../../base/process/run-program.ts'
import type { TargetName, SettingsAgentName } from '../../hook/host.ts'
import { guardEvents, guardIn } from '../git/guard-text.ts'
import { type HostSettings, hostSettings } from '../host-settings.ts'
import type { Installation } from '../inspect.ts'
import { findOnPath } from '../own-program.ts'
import { withoutWait } from '../settings/command-text.ts'
import { readSettingsFile } from '../settings/settings-file.ts'

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
export const trialSession = 'ses-trial'

export const hookRunner = (host: TargetName): HookRunner => runners[host]

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
    writeFileSync(program, `${plugin.replace(/"waitMs":\d+,?/, '')}${pluginCall}`)
    const opencode = findOnPath('opencode', env)
    // Try the plugin in OpenCode's own runtime, Bun, whose clocks differ from Node's.
    if (opencode !== undefined && (await isBun(opencode, cwd, env)))
      return await run(opencode, ['run', program], cwd, '', asBun(env))
    return await run(process.execPath, [program], cwd, '', env)
  },
  isRefusal: ({ code }) => code === 2,
}

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
export const runLine = (
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
