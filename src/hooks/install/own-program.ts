import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { HostName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'

/** The words with which settings start a program of stint's, and a warning for the user, if there is one. */
interface OwnProgram {
  program: string[]
  warning?: string
}

/** By its full path, which works whatever PATH the agent has; in shared files by its name. */
export function ownProgram(name: 'stint' | 'stint-hook', shared: boolean): OwnProgram {
  const file = programFile(name)
  if (!existsSync(file))
    throw new StintError('NOT_FOUND', `stint is not completely installed: ${file} is missing`, {
      hint: 'Install it again: npm install --global stint',
    })
  if (shared) {
    const what = name === 'stint' ? 'the shared entry does' : 'shared hooks do'
    const warning = `${name} is not on PATH: until it is (npm install --global stint), ${what} nothing here`
    return { program: [name], ...(findOnPath(name) === undefined && { warning }) }
  }
  const isTemporary = /[/\\]_npx[/\\]/.test(file)
  const warning = `npm may remove ${file} at any time: install stint (npm install --global stint), then repeat this`
  return { program: [stableNode(), file], ...(isTemporary && { warning }) }
}

export const isExecutable = (path: string): boolean =>
  ifPossible(() => accessSync(path, constants.X_OK) ?? true) ?? false

/**
 * The words for the settings of an agent: with the script before them that needs Node only to decide. It is
 * started by its name, as a shell that cannot open a script exits with 2, which would refuse the call.
 */
export function withScript(host: HostName, program: readonly string[]): string[] {
  const [, hook = ''] = program
  const script = hook.replace(/\.cjs$/, '.sh')
  const isUsable = process.platform === 'linux' && script !== hook && isExecutable(script)
  return hosts[host].usesScript && isUsable ? [script, ...program] : [...program]
}

/** A program of the installation that is running. */
export const programFile = (name: 'stint' | 'stint-hook'): string =>
  join(dirname(realpathSync.native(process.argv[1] ?? '')), `${name}.cjs`)

/** Prefers the link to node on PATH: the directory behind it may be named by version, and go with it. */
function stableNode(): string {
  const link = findOnPath('node')
  const temporary = /fnm_multishells|[/\\]node_modules[/\\]/
  const real = realpathSync.native(process.execPath)
  return link !== undefined && !temporary.test(link) && realpathSync.native(link) === real
    ? link
    : process.execPath
}

/** The first executable of this name on PATH. */
export function findOnPath(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const candidates = (env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, name))
  return candidates.find((path) => {
    // Most directories do not have it, and a stat of nothing takes longer.
    const stat = existsSync(path) ? ifPossible(() => statSync(path)) : undefined
    return stat !== undefined && stat.isFile() && (stat.mode & 0o111) !== 0
  })
}
