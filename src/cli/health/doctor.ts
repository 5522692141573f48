import { existsSync } from 'node:fs'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import { type Identity, ownIdentity } from '../../base/process/liveness.ts'
import { visibleText } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import type { Screen } from '../../command/stdio.ts'
import { agentTitle } from '../../hooks/index.ts'
import { installedServers } from '../../mcp/install/install-server.ts'
import { findWorkspace } from '../../lease/index.ts'
import { createScratch, findTmp, rootOf } from '../../scratch/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import { measureEntries } from '../../sweep/index.ts'
import { type Check, countLevels, Examination, fail, type Level, ok, renderCheck, warn } from './check.ts'
import { checkDirectory, checkMount, type DirectoryRole, judgeSpace, readSpace } from './directory.ts'
import { tryHome, tryTemp } from './file-trial.ts'
import { findHooks, judgeHooks } from './hooks.ts'
import {
  claimsIn,
  judgeLeases,
  judgeOrphans,
  judgePoints,
  judgeSessions,
  readPointStores,
  sumOrphans,
} from './contents.ts'
import { storeOfEnvironment } from '../store.ts'
import { showWork } from '../terminal/progress.ts'
import { plural, shortPath } from '../text/format.ts'

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
    const { say, note, screen } = context
    const examination = new Examination(({ name }) => note(`${name} checked`))
    await showWork('examining', context, () => examineAll(examination))
    const { checks } = examination
    const data = { checks, counts: countLevels(checks) }
    if (data.counts.fail === 0) return data
    say(renderDoctor(data, screen))
    const failed = [...new Set(checks.filter(({ level }) => level === 'fail').map(({ name }) => name))]
    throw new StintError('DOCTOR_FOUND', `not everything can work here: ${failed.join(', ')}`, { data })
  },
  render: renderDoctor,
})

async function examineAll(examination: Examination): Promise<void> {
  examination.add(judgeNode(process.versions.node), judgeIdentity(ownIdentity()), checkShell())
  const home = await examination.look('home', () => stintHome())
  if (home !== undefined) await examineHome(examination, home)
  const tmp = await examination.look('temp', () => findTmp())
  if (tmp !== undefined) await examineTemp(examination, rootOf(tmp).path)
  await examination.check('hooks', tryHooks)
  await examination.check('mcp', checkServers)
  await examination.check('postgres', async () => {
    const url = storeOfEnvironment()
    return url === undefined ? [] : await (await import('./postgres.ts')).checkPostgres(url)
  })
}

async function examineHome(examination: Examination, home: string): Promise<void> {
  const isUsable = await examineDirectory(examination, 'home', home)
  const claims = await examination.look('leases', () => claimsIn(home), isUsable)
  if (claims !== undefined) examination.add(judgeLeases(claims, home))
  await examination.check('home files', () => tryHome(home), isUsable)
  await examination.check('points', async () => judgePoints(await readPointStores(home)), isUsable)
  await examination.check('sessions', async () => judgeSessions(await listSessionsIn(home)), isUsable)
}

async function examineTemp(examination: Examination, root: string): Promise<void> {
  await examineDirectory(examination, 'temp', root)
  await examination.check('temp files', tryTemp)
  await examination.check('orphans', async () =>
    judgeOrphans(sumOrphans(await measureEntries(Date.now(), measureWithinMs))),
  )
}

/** Runs each installed hook as its agent would. Without a usable temp directory, hooks are only read. */
export async function tryHooks(): Promise<Check[]> {
  const scratch = ifPossible(() => createScratch({ command: 'stint doctor' }))
  const remove = (): void => void scratch?.remove()
  // Ctrl-C ends the process in the middle of a trial.
  process.once('exit', remove)
  try {
    return judgeHooks(await findHooks(findWorkspace().path, { askGit: true, trialIn: scratch?.dir('hooks') }))
  } finally {
    process.off('exit', remove)
    remove()
  }
}

/** One check for each settings file that starts the MCP server; no agent needs it. */
const checkServers = (): Check[] =>
  installedServers([], undefined, findWorkspace().path).map(({ agent, path, wrong }) => {
    const at = `${agentTitle(agent)} (${visibleText(shortPath(path))})`
    if (wrong === undefined) return ok('mcp', `${at}: installed`)
    return fail('mcp', `${at}: ${visibleText(wrong.problem)}`, wrong.fix)
  })

/** Returns false if the directory cannot be used: then a failure inside it is not a finding of its own. */
async function examineDirectory(
  examination: Examination,
  role: DirectoryRole,
  path: string,
): Promise<boolean> {
  const check = await examination.look(role, () => checkDirectory(role, path))
  if (check !== undefined) examination.add(check)
  const isUsable = check !== undefined && check.level !== 'fail'
  await examination.check(`${role} mount`, () => checkMount(role, path), isUsable)
  await examination.check(`${role} space`, () => judgeSpace(`${role} space`, readSpace(path)), isUsable)
  return isUsable
}

function renderDoctor({ checks, counts }: DoctorData, screen: Screen): string {
  const { ok, warn, fail } = counts
  const summary = `${plural(checks.length, 'check')}: ${ok} fine, ${plural(warn, 'warning')}, ${plural(fail, 'failure')}`
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
  if (started === null)
    return warn(
      name,
      'the start time of a process is unknown: a new process with a reused pid passes for a dead one',
      'Mount /proc. Without it, what dead processes left is removed only when its time is over.',
    )
  if (boot === '' || host === '')
    return warn(
      name,
      `there is no ${boot === '' ? 'boot id' : 'machine id'}: after a restart, processes from before it cannot be recognised as dead`,
      host === '' ? 'systemd-machine-id-setup, or write 32 hex digits into /etc/machine-id.' : 'Mount /proc.',
    )
  return ok(name, 'processes can be identified reliably, even across restarts')
}

/** Is there a shell for the guard? */
export function checkShell(path = '/bin/sh'): Check {
  if (existsSync(path)) return ok('guard', `${path} is there to clean up after \`kill -9\``)
  return warn(
    'guard',
    `there is no ${path}: after \`kill -9\` of a run its children go on, and its scratch stays until a sweep`,
    'Install a shell.',
  )
}
