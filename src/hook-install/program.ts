import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StintError } from '../base/errors/stint-error.ts'
import { onPath } from './on-path.ts'

/** How hooks are to start stint-hook, and what a person should know about that. */
export interface HookProgram {
  program: string[]
  warning?: string
}

/**
 * By its full path, so that it is found whatever PATH the agent has; in files that others get, too, by its name, since their paths are other ones.
 */
export function hookProgram(shared: boolean): HookProgram {
  const hook = ownHook()
  if (!existsSync(hook))
    throw new StintError('NOT_FOUND', `stint is not completely installed: there is no ${hook}`, {
      hint: 'Install it again: npm install --global stint',
    })
  if (shared) {
    const warning =
      onPath('stint-hook') === undefined
        ? 'stint-hook is not on PATH: until it is (npm install --global stint), hooks that are shared do nothing here'
        : undefined
    return { program: ['stint-hook'], ...(warning && { warning }) }
  }
  const fleeting = /[/\\]_npx[/\\]/.test(hook)
  return {
    program: [stableNode(), hook],
    ...(fleeting && {
      warning: `npm may remove ${hook} any time: install stint (npm install --global stint), and then its hooks from there`,
    }),
  }
}

/** The hook of the installation that is running. */
export const ownHook = (): string =>
  join(dirname(realpathSync.native(process.argv[1] ?? '')), 'stint-hook.cjs')

/** A package manager's directory has the version in its name, and goes with it; the link on PATH stays. */
function stableNode(): string {
  const link = onPath('node')
  const fleeting = /fnm_multishells|[/\\]node_modules[/\\]/
  const real = realpathSync.native(process.execPath)
  return link !== undefined && !fleeting.test(link) && realpathSync.native(link) === real
    ? link
    : process.execPath
}
