import { StintError } from '../../base/errors/stint-error.ts'
import { type Identity, ownIdentity } from '../../base/process/liveness.ts'
import { visibleText } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import type { Screen } from '../../command/context.ts'
import { agentTitle } from '../../hooks/index.ts'
import { installedServers } from '../../mcp/install/install-server.ts'
import { findWorkspace } from '../../lease/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import { measureEntries } from '../../sweep/index.ts'
import { freshSources, lookAround } from '../status/gather.ts'
import { showWork } from '../terminal/progress.ts'
import { plural, shortPath } from '../text/format.ts'
import { type Check, Examination, fail, type Level, ok, renderCheck, warn } from './check.ts'
import { checkFileSystem, tryHome, tryTemp } from './directory.ts'
import { tryHooks } from './hooks.ts'

/** Milliseconds that measuring the temp directory may take. */
const measureWithinMs = 2000

interface DoctorData {
  checks: Check[]
  counts: Record<Level, number>
}

export const doctorCommand = defineBareCommand({
  name: 'doctor',
  summary:
    'Checks that everything can work here: tries the file systems and the installed hooks, and looks at permissions, Node, leases, sessions and PostgreSQL. Exit 4 if something cannot work.',
  examples: [
    ['stint doctor', 'a line for each check, and what to do about it'],
    ['stint doctor --json', 'for scripts'],
    ['stint doctor --quiet', 'only the exit code, and what has failed'],
  ],
  async run(context): Promise<DoctorData> {
    const checks = await showWork('examining', context, examineAll)
    const failures = checks.filter(({ level }) => level === 'fail')
    const warnings = checks.filter(({ level }) => level === 'warn')
    const ok = checks.length - warnings.length - failures.length
    const data = { checks, counts: { ok, warn: warnings.length, fail: failures.length } }
    if (failures.length === 0) return data
    context.say(renderDoctor(data, context.screen))
    const names = [...new Set(failures.map(({ name }) => name))]
    throw new StintError('DOCTOR_FOUND', `not everything can work here: ${names.join(', ')}`, { data })
  },
  render: renderDoctor,
})

/** Looks around as `stint status` does, but tries what that only reads. */
async function examineAll(): Promise<Check[]> {
  const { home, temp, checks } = await lookAround({
    ...freshSources,
    sessions: listSessionsIn,
    entries: (at) => measureEntries(at, measureWithinMs),
    hooks: async () => ({ ...(await tryHooks()), agents: [] }),
  })
  const examination = new Examination()
  const { path } = home
  if (path !== undefined && home.isUsable) {
    await examination.check('home mount', () => checkFileSystem(path))
    await examination.check('home files', () => tryHome(path))
  }
  if (temp.isUsable) await examination.check('temp files', tryTemp)
  await examination.check('mcp', checkServers)
  return [judgeNode(process.versions.node), judgeIdentity(ownIdentity()), ...checks, ...examination.checks]
}

/** One check for each settings file that starts the MCP server; no agent needs it. */
const checkServers = (): Check[] =>
  installedServers([], undefined, findWorkspace().path).map(({ agent, path, wrong }) => {
    const at = `${agentTitle(agent)} (${visibleText(shortPath(path))})`
    if (wrong === undefined) return ok('mcp', `${at}: installed`)
    return fail('mcp', `${at}: ${visibleText(wrong.problem)}`, wrong.fix)
  })

function renderDoctor({ checks, counts }: DoctorData, screen: Screen): string {
  const summary = `${plural(checks.length, 'check')}: ${counts.ok} fine, ${plural(counts.warn, 'warning')}, ${plural(counts.fail, 'failure')}`
  return [...checks.flatMap((check) => renderCheck(check, screen)), screen.paint.bold(summary)].join('\n')
}

const [leastMajor, leastMinor] = [20, 15] as const

/** Is this version of Node new enough? */
export function judgeNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok('node', version)
  const needed = `${leastMajor}.${leastMinor}`
  return fail('node', `${version} is too old: ${needed} is needed`, `Install Node ${needed} or newer.`)
}

/** Can a process be identified, so that a new one is never taken for it? */
export function judgeIdentity({ started, boot, host }: Identity): Check {
  const name = 'processes'
  if (started === null || boot === '')
    return warn(
      name,
      'this system does not tell when a process started: a new one with a reused pid passes for a dead one',
      'Mount /proc, if this is Linux. Without it, what dead processes left goes only when its time is over.',
    )
  if (host === '')
    return warn(
      name,
      'there is no machine id: after a restart, processes from before it cannot be recognised as dead',
      'systemd-machine-id-setup, or write 32 hex digits into /etc/machine-id.',
    )
  return ok(name, 'can be told apart reliably, even across restarts')
}
