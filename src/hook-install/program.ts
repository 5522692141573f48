import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StintError } from '../primitives/stint-error.ts'
import { onPath, type Place } from './place.ts'

/** How hooks are to start stint-hook, and what a person should know about that. */
export interface HookProgram {
  program: string[]
  warning?: string
}

/**
 * By its full path, so that it is found whatever PATH the agent has; in files that others get, too, by its name, since their paths are other ones.
 */
export function hookProgram(shared: boolean, env: NodeJS.ProcessEnv = process.env): HookProgram {
  const hook = ownHook()
  if (!existsSync(hook))
    throw new StintError('NOT_FOUND', `stint is not completely installed: there is no ${hook}`, {
      hint: 'Install it again: npm install --global stint',
    })
  if (shared) {
    const warning =
      onPath('stint-hook', env) === undefined
        ? 'stint-hook is not on PATH: until it is (npm install --global stint), hooks that are shared do nothing here'
        : undefined
    return { program: ['stint-hook'], ...(warning && { warning }) }
  }
  const fleeting = /[/\\]_npx[/\\]/.test(hook)
  return {
    program: [stableNode(env), hook],
    ...(fleeting && {
      warning: `npm may remove ${hook} any time: install stint (npm install --global stint), and then its hooks from there`,
    }),
  }
}

/** The hook of the installation that is running. */
export const ownHook = (): string =>
  join(dirname(realpathSync.native(process.argv[1] ?? '')), 'stint-hook.cjs')

/** Is what goes into this place given to others? */
export const isShared = (place: Place): boolean => place === 'project'

/** A package manager's directory has the version in its name, and goes with it; the link on PATH stays. */
function stableNode(env: NodeJS.ProcessEnv): string {
  const link = onPath('node', env)
  const fleeting = /fnm_multishells|[/\\]node_modules[/\\]/
  const real = realpathSync.native(process.execPath)
  return link !== undefined && !fleeting.test(link) && realpathSync.native(link) === real
    ? link
    : process.execPath
}
