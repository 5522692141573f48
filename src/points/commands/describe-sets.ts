import { utf8Of } from '../../base/fs/paths.ts'
import { type ChangeSet, type PathChange, readChanges, type WorktreeChangeSets } from '../index.ts'
import { chooseSession } from './which-sets.ts'

/** A change set in the form that answers show. */
export function describeSet(set: ChangeSet, changes: readonly PathChange[]) {
  const count = (side: 'added' | 'removed'): number =>
    changes.reduce((sum, change) => sum + (change[side] ?? 0), 0)
  return {
    id: set.id,
    kind: set.kind,
    session_id: set.session_id ?? null,
    agent: set.agent ?? null,
    words: set.words ?? null,
    began_at: set.from.at,
    ended_at: set.end === 'open' ? null : set.to.at,
    end: set.end,
    complete: set.isComplete,
    head_moved: set.hasMovedHead,
    undone: set.undone,
    undoes: set.undoes,
    added: count('added'),
    removed: count('removed'),
    files: changes.map(describeChange),
    left_out: [...new Set(set.to.left_out.map(({ path, why }) => `${utf8Of(path)} (${why})`))],
  }
}

export type DescribedSet = ReturnType<typeof describeSet>

const describeChange = ({ path, before, after, added, removed }: PathChange) => ({
  path: utf8Of(path),
  change: before === undefined ? 'added' : after === undefined ? 'deleted' : 'changed',
  added: added ?? null,
  removed: removed ?? null,
})

/**
 * Describes the newest change sets in which something was changed, oldest first; of one session, or of all.
 * `more` is how many there are before them.
 */
export async function listSets(
  { store, sets }: Pick<WorktreeChangeSets, 'store' | 'sets'>,
  { session, limit }: { session?: string; limit: number },
): Promise<{ sets: DescribedSet[]; more: number }> {
  const sessionId = session === undefined ? undefined : chooseSession(sets, session, [])
  const candidates = sets.filter(
    ({ from, to, session_id }) =>
      from.tree !== to.tree && (sessionId === undefined || session_id === sessionId),
  )
  // Some have no path that counts: twice as many as are shown suffice.
  const read = candidates.slice(-2 * limit)
  const changes = await readChanges(store, read, { countLines: true })
  const described = read
    .map((set, index) => describeSet(set, changes[index] ?? []))
    .filter(({ files }) => files.length > 0)
    .slice(-limit)
  return { sets: described, more: Math.max(0, candidates.length - described.length) }
}

/** The people's name of who made a change set. */
export function authorOf({
  kind,
  agent,
  session_id,
}: Pick<DescribedSet, 'kind' | 'agent' | 'session_id'>): string {
  if (kind === 'outside') return 'outside'
  return agent ?? session_id ?? ''
}

/** What a reader of a change set must know besides its files. */
export function remarksOn({ end, complete, head_moved, undone, kind }: DescribedSet): string {
  const remarks = [
    end === 'open' ? 'goes on' : '',
    end === 'unseen' ? 'end not seen' : '',
    complete ? '' : 'incomplete',
    head_moved && kind !== 'outside' ? 'HEAD moved' : '',
    undone === 'yes' ? 'undone' : '',
    undone === 'partly' ? 'partly undone' : '',
  ]
  return remarks.filter((remark) => remark !== '').join(', ')
}
