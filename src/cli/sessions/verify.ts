import { join } from 'node:path'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/spec.ts'
import { systemClock } from '../../primitives/clock.ts'
import { nodeDisk } from '../../primitives/disk.ts'
import { errnoOf, StintError } from '../../primitives/stint-error.ts'
import { visibleText } from '../../primitives/visible-text.ts'
import { damageFound, noteDamage } from '../../store/filesystem/damage.ts'
import { sessionIdsIn } from '../../store/filesystem/find-session.ts'
import { pathsIn } from '../../store/filesystem/paths.ts'
import type { Health, SessionStore } from '../../store/store.ts'
import { plural } from '../plural.ts'
import { openProgressBar } from '../progress-bar.ts'
import { findId, idArgument, openStore, sessionsDirectory } from './open-store.ts'

const options = {
  all: { type: 'boolean', help: 'every session there is' },
} as const satisfies OptionTable

interface Verified {
  session_id: string
  state: 'whole' | 'torn' | 'damaged'
  findings: string[]
  health: Health | null
}

export const verifyCommand = defineBareCommand({
  name: 'verify',
  summary:
    'Reads every record, every line of the audit log and every blob: exit 4 if anything is missing or changed.',
  options,
  positionals: 'ID',
  examples: [
    ['stint sessions verify mine', 'one session'],
    ['stint sessions verify --all', 'all of them'],
  ],
  async run({ signal, quiet, say }, { options, positionals }) {
    const ids = idsOf(options.all, positionals)
    const store = openStore()
    const bar = await openProgressBar('verifying', { signal, quiet })
    const sessions: Verified[] = []
    let error: StintError | undefined
    try {
      for (const [done, id] of ids.entries()) {
        if (signal.aborted) break
        const result = await verifyOne(store, id, (bytes) => bar?.update({ done, total: ids.length, bytes }))
        if (result === undefined) continue
        sessions.push(result.verified)
        error ??= result.error
        // Here a signal is heard.
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      bar?.clear()
    }
    const damaged = sessions.filter(({ state }) => state === 'damaged').length
    const data = { checked: sessions.length, damaged, sessions }
    if (error === undefined) return data
    say(renderVerified(sessions))
    throw new StintError(error.code, error.message, { ...error.options, data })
  },
  render: ({ sessions, checked }) =>
    `${renderVerified(sessions)}\n${plural(checked, 'session')} in order`.trim(),
})

function idsOf(all: boolean, positionals: readonly string[]): string[] {
  if (!all) return [findId(idArgument(positionals))]
  if (positionals.length > 0) throw new StintError('ARG_ERROR', '--all takes no id')
  return sessionIdsIn(nodeDisk, sessionsDirectory()).sort()
}

/** Undefined for one that was removed meanwhile. */
async function verifyOne(
  store: SessionStore,
  id: string,
  onBytes: (done: number) => void,
): Promise<{ verified: Verified; error?: StintError } | undefined> {
  try {
    const inspection = await store.inspect(id)
    let health = await inspection.health(onBytes)
    // While somebody writes, a look may come between two halves of a group: then another tells.
    if (damageFound(id, health) !== undefined) health = await inspection.health(onBytes)
    const error = damageFound(id, health)
    if (error !== undefined)
      noteDamage(nodeDisk, pathsIn(join(sessionsDirectory(), id)), error.message, systemClock.now())
    const findings = [
      ...health.journal.findings,
      ...health.audit.findings,
      ...health.blobs.map((sha256) => `blob ${sha256}`),
    ]
    const torn = [health.journal, health.audit].some(({ state }) => state === 'torn')
    const state = error !== undefined ? 'damaged' : torn ? 'torn' : 'whole'
    return { verified: { session_id: id, state, findings, health }, error }
  } catch (error) {
    if (!(error instanceof StintError) || errnoOf(error) === 'NOT_FOUND') return undefined
    return { verified: { session_id: id, state: 'damaged', findings: [error.message], health: null }, error }
  }
}

const renderVerified = (sessions: readonly Verified[]): string =>
  sessions
    .filter(({ findings }) => findings.length > 0)
    .flatMap(({ session_id, state, findings }) => [
      `${session_id}: ${state}`,
      ...findings.map((finding) => `  ${visibleText(finding)}`),
    ])
    .join('\n')
