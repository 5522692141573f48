import { utf8Of } from '../../base/fs/paths.ts'
import type { ChangeSet, PathChange } from '../index.ts'

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
