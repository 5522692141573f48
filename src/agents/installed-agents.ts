import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { type AgentName, agentPrograms, agentTitle, allAgents, findOnPath, hasAgent } from '../hooks/index.ts'

/** An agent that its user has. */
export interface InstalledAgent {
  agent: AgentName
  title: string
  /** Null if no file says it: the agent is not started to ask. */
  version: string | null
  /** Null if only the agent's directory was found. */
  program: string | null
}

/** Finds the agents of this user and their versions, and starts none of them. */
export const findAgents = (workspace: string): InstalledAgent[] =>
  allAgents.flatMap((agent) => {
    const program = findProgram(agent, workspace)
    if (program === undefined && !hasAgent(agent)) return []
    const version = program === undefined ? undefined : versionOf(program)
    return [{ agent, title: agentTitle(agent), version: version ?? null, program: program ?? null }]
  })

/** Directories that installers use and that are on no PATH in some shells, below the home directory. */
const installDirectories = [
  '.local/bin',
  '.claude/local/node_modules/.bin',
  '.opencode/bin',
  '.npm-global/bin',
  '.bun/bin',
  '.volta/bin',
]

function findProgram(agent: AgentName, workspace: string): string | undefined {
  const directories = [
    ...installDirectories.map((directory) => join(homedir(), directory)),
    dirname(process.execPath),
    join(workspace, 'node_modules/.bin'),
  ]
  const elsewhere = { PATH: directories.join(':') }
  return agentPrograms(agent)
    .map((name) => findOnPath(name) ?? findOnPath(name, elsewhere))
    .find((path) => path !== undefined)
}

/** How many directories above a program its package.json can be: `bin/` in a package, and some more. */
const packageLevels = 4

/**
 * The version of a program: of the npm package that it belongs to, or the directory that its installer named
 * by the version, such as `~/.local/share/claude/versions/2.1.325` or `Cellar/codex/0.166.0/bin/codex`.
 */
function versionOf(program: string): string | undefined {
  const real = ifPossible(() => realpathSync.native(program)) ?? program
  let directory = dirname(real)
  for (let level = 0; level < packageLevels; level++) {
    const version = parseObject(readSmallFile(join(directory, 'package.json')) ?? '')?.version
    if (isString(version) && isVersion(version)) return version
    // The package.json above `node_modules` is the project's.
    if (basename(directory) === 'node_modules') break
    directory = dirname(directory)
  }
  return real.split('/').findLast(isVersion)
}

const isVersion = (text: string): boolean => /^\d+\.\d+\.\d+[\w.+-]*$/.test(text)
