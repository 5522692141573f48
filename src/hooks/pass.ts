import { existsSync, lstatSync, readdirSync, statfsSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { renameInto } from '../base/fs/atomic-file.ts'
import { ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import type { Identity } from '../base/process/liveness.ts'
import { uptimeSeconds } from '../base/process/platform.ts'
import { isSessionId } from '../base/text/id.ts'
import type { Claim, LeaseTarget } from '../lease/index.ts'

// A pass tells `stint-hook.sh`, which starts no Node, that a claim of its session stands. The file
// `pass/<session>` has a line for each workspace, with tabs between its fields. The script allows a call only
// if the epoch of the claim is still the top one, so a line that is out of date does no harm.

/** A claim that the script may rely on. */
interface Pass {
  key: string
  epoch: number
  /** The uptime in seconds, sleep included, until which the line is good. */
  until: number
  agent: Identity
  /** The top level of the repository; `-` outside of all repositories. */
  root: string
  /** The absolute paths that the claim covers, each with everything below it. */
  covers: readonly string[]
}

/** How many paths a line has, and how many lines there are: a shell reads a file one byte at a time. */
const maxCovers = 12
const maxLines = 8

/** A shell compares paths with the JSON of an event, which writes all other characters differently. */
const isPlain = (path: string): boolean => /^\/[ -!#-[\]-~]*$/.test(path)

const passPath = (sessionId: string, env: NodeJS.ProcessEnv): string =>
  join(stintHome(env), 'pass', isSessionId(sessionId) ? sessionId : '')

/** The pass for a claim in this epoch; undefined if the script could not check it. */
export function passOf(
  { path: top = '', key }: Pick<LeaseTarget, 'path' | 'key'>,
  claim: Claim,
  { epoch, agent, patienceMs }: { epoch: number; agent: Identity; patienceMs: number },
): Pass | undefined {
  const uptime = uptimeSeconds()
  if (uptime === undefined || agent.started === null) return undefined
  const isRepository = claim.paths.every((path) => !path.startsWith('/'))
  const root = isRepository ? top : '-'
  const covers = claim.paths.map((path) => {
    if (!isRepository) return path
    return path === '**' ? top : join(top, path)
  })
  if (![...covers, ...(isRepository ? [root] : [])].every(isPlain)) return undefined
  // Half of the patience, in seconds: the claim has at least that much left. The uptime counts sleep and the
  // clock of a claim does not, so a pass ends early, never late.
  const until = Math.floor(uptime + patienceMs / 2000)
  return { key, epoch, until, agent, root, covers: covers.slice(0, maxCovers) }
}

const formatPass = ({ key, epoch, until, agent, root, covers }: Pass): string =>
  [agent.boot, key, epoch, until, agent.pid, agent.started, root, ...covers, ''].join('\t')

/** Adds passes to those of a session, and drops those of another process. Never throws. */
export function writePasses(sessionId: string, passes: readonly Pass[], env: NodeJS.ProcessEnv): void {
  const [first] = passes
  if (first === undefined || !isSessionId(sessionId)) return
  ifPossible(() => {
    const path = passPath(sessionId, env)
    const { boot, pid, started } = first.agent
    const isKept = (line: string): boolean => {
      const [lineBoot, key, , , linePid, lineStarted] = line.split('\t')
      const isOurs = lineBoot === boot && Number(linePid) === pid && Number(lineStarted) === started
      // Outside of all repositories, a session has several claims in one record.
      return isOurs && !passes.some((pass) => pass.key === key && pass.root !== '-')
    }
    const before = (readSmallFile(path) ?? '').split('\n').filter(isKept)
    const lines = [...new Set([...passes.map(formatPass), ...before])].slice(0, maxLines)
    ensureHomeDirectory(dirname(path))
    // A file system of a network may show the script an old listing.
    if (!localFileSystems.has(statfsSync(dirname(path)).type)) return
    renameInto(path, (staged) => createPrivateFile(staged, `${lines.join('\n')}\n`))
  })
}

/** Removes the passes of a session whose turn has ended. */
export function forgetPasses(sessionId: string, env: NodeJS.ProcessEnv): void {
  const path = passPath(sessionId, env)
  if (existsSync(path)) ifPossible(() => unlinkSync(path))
}

/** No pass is good for so long, in milliseconds. */
const oldPassMs = 24 * 3_600_000

/** Removes the passes of sessions that have ended long ago. Without its pass, a session asks Node. */
export function sweepPasses(home: string): void {
  const directory = join(home, 'pass')
  for (const name of ifPossible(() => readdirSync(directory)) ?? []) {
    const path = join(directory, name)
    const changedAt = ifPossible(() => lstatSync(path).mtimeMs) ?? Date.now()
    if (Date.now() - changedAt > oldPassMs) ifPossible(() => unlinkSync(path))
  }
}

/** The numbers of ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs, bcachefs and ramfs in `statfs`. */
const localFileSystems = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x858458f6,
])
