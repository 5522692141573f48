import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { allAgents, isHostVariable } from '../../src/hooks/install/agents.ts'
import { hostSettings } from '../../src/hooks/install/agents.ts'

/** Programs by which stint finds out that the user has an agent, or stint itself, installed. */
const hidden = [
  ...Object.values(hostSettings).flatMap(({ programs = [] }) => programs),
  ...allAgents,
  'stint',
  'stint-hook',
]

/**
 * Makes the environment of the suite independent of the user who runs it. Vitest's configurations call this
 * before any test starts.
 */
export function cleanEnvironment(): void {
  const { env } = process
  for (const name of Object.keys(env))
    if (isHostVariable(name) || name.startsWith('XDG_') || name.startsWith('STINT_')) delete env[name]
  // Node parses these certificates at every start, for 70 ms; the tests start thousands of processes.
  delete env.NODE_EXTRA_CA_CERTS
  // No test may depend on the home directory of the user, or change anything in it. This one cannot be made.
  env.HOME = '/dev/null/home'
  env.PATH = withoutHidden(env.PATH ?? '')
  env.SYSTEM_PATH = withoutHidden('/usr/bin:/bin')
}

const withoutHidden = (path: string): string =>
  path
    .split(delimiter)
    .map((directory) =>
      hidden.some((name) => existsSync(join(directory, name))) ? mirrorWithoutHidden(directory) : directory,
    )
    .join(delimiter)

/** Makes a directory of links to all other programs of a directory. It lasts as long as this process. */
function mirrorWithoutHidden(directory: string): string {
  const mirror = mkdtempSync(join(tmpdir(), 'stint-path-'))
  process.once('exit', () => rmSync(mirror, { recursive: true, force: true }))
  // Some tests run as another user.
  chmodSync(mirror, 0o755)
  for (const name of readdirSync(directory))
    if (!hidden.includes(name)) symlinkSync(join(directory, name), join(mirror, name))
  return mirror
}
