import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onPath } from '../on-path.ts'
import { readSettings } from '../settings/settings-file.ts'
import type { Ended } from './denied.ts'
import { ended } from './start.ts'

/** OpenCode loads the file into its own process; to refuse is to throw. */
export function runPlugin(path: string, cwd: string, env: NodeJS.ProcessEnv): Ended {
  const program = join(cwd, 'plugin-trial.mjs')
  writeFileSync(program, `${readSettings(path).bytes?.toString() ?? ''}${call}`)
  const opencode = onPath('opencode', env)
  // A runtime of its own is part of what is tried out: it is another one than ours, and has other clocks.
  if (opencode !== undefined && isRuntime(opencode, cwd, env))
    return ended(opencode, ['run', program], cwd, '', asRuntime(env))
  return ended(process.execPath, [program], cwd, '', env)
}

const call = `
const hooks = await stint({ directory: process.cwd() })
const call = { tool: 'bash', sessionID: 'ses-trial', callID: 'call-trial' }
await hooks['tool.execute.before'](call, { args: { command: 'true' } }).catch((error) => {
  console.error(error.message)
  process.exitCode = 2
})
`

/** OpenCode is one file with Bun in it, which this lets out. */
const asRuntime = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...env, BUN_BE_BUN: '1' })

function isRuntime(opencode: string, cwd: string, env: NodeJS.ProcessEnv): boolean {
  const { stdout } = ended(opencode, ['-e', 'console.log("bun", Bun.version)'], cwd, '', asRuntime(env))
  return /^bun \d/.test(stdout)
}
