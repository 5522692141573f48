import { resolve } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { isWithin, latin1Of, realParentPath } from '../../base/fs/paths.ts'
import { listNames, matchName } from '../../cli/match-name.ts'
import { promptedSessions } from '../../hooks/index.ts'
import { findWorkspace } from '../../lease/index.ts'
import { assertPoints, type ChangeSet, findStore, readChangeSets, type WorktreeChangeSets } from '../index.ts'

export const workspaceOption = {
  workspace: { type: 'string', value: 'DIR', help: 'any directory in the workspace (the current one)' },
} as const

/** What the positionals of a command name: a change set or session, and paths after `--`. */
export function readWhat(args: { positionals: readonly string[]; dashesAt?: number }) {
  const { positionals, dashesAt = positionals.length } = args
  if (dashesAt > 1)
    throw new StintError('ARG_ERROR', `one change set or session at a time, not ${dashesAt}`, {
      hint: 'Paths follow --, as in: stint diff claude -- src',
    })
  return { what: dashesAt === 1 ? positionals[0] : undefined, paths: positionals.slice(dashesAt) }
}

/** Opens the change sets of the workspace around a directory. */
export async function openChangeSets(directory: string | undefined): Promise<WorktreeChangeSets> {
  const { path: root } = findWorkspace(directory)
  assertPoints(root)
  if (findStore(root) === undefined)
    throw new StintError('NOT_FOUND', `no restore point was taken in ${root} yet`, {
      hint: 'Points are taken when an agent with hooks, or `stint run --lock`, works there.',
    })
  return await readChangeSets(root)
}

/** Paths as a user wrote them, relative to the root of the worktree, in Latin-1. */
export function pathsInRoot(root: string, paths: readonly string[], directory = process.cwd()): string[] {
  return paths.map((path) => {
    const real = realParentPath(resolve(directory, path))
    if (!isWithin(real, root) || real === root)
      throw new StintError('NAME_INVALID', `${path} is not in the workspace ${root}`, {
        hint: 'Name files and directories of this workspace, or use --workspace.',
      })
    return latin1Of(real.slice(root.length + 1))
  })
}

const isOpenToChoice = ({ kind, undone, from, to }: ChangeSet): boolean =>
  kind === 'turn' && undone !== 'yes' && from.tree !== to.tree

/**
 * The change sets that a name means, oldest first: `last` (the newest turn that is not undone), the beginning
 * of a set's id, or a session by its id, the beginning of it, or the name of its agent.
 */
export function chooseSets(sets: readonly ChangeSet[], what = 'last'): ChangeSet[] {
  if (what === 'last') {
    const last = sets.findLast(isOpenToChoice)
    if (last === undefined)
      throw new StintError('NOT_FOUND', 'no session has changed anything here that is not undone already', {
        hint: '`stint changes` shows what was undone; `stint redo` takes the last undo back.',
      })
    return [last]
  }
  const byId = sets.filter(({ id }) => id === what || (what.length >= 4 && id.startsWith(what)))
  const ids = byId.map(({ id }) => id)
  if (byId.length > 1) throw ambiguous(what, ids)
  if (byId.length === 1) return byId
  const sessionId = chooseSession(sets, what)
  const ownSets = sets.filter((set) => set.session_id === sessionId && isOpenToChoice(set))
  if (ownSets.length > 0) return ownSets
  throw new StintError('NOT_FOUND', `everything that ${sessionId} changed is undone, or it changed nothing`, {
    hint: '`stint changes` shows it; `stint redo` takes the last undo back.',
  })
}

/** The session that a name means; of an agent, its newest one, unless several of its sessions live. */
export function chooseSession(sets: readonly ChangeSet[], name: string): string {
  const candidates = sets
    .toReversed()
    .flatMap(({ kind, session_id: id, agent }) =>
      kind !== 'turn' || id === undefined ? [] : [{ id, agent, isHere: false }],
    )
  const matches = [...new Set(matchName(name, candidates).items.map(({ id }) => id))]
  const [newest] = matches
  if (newest === undefined)
    throw new StintError('NOT_FOUND', `${JSON.stringify(name)} is no change set and no session here`, {
      hint: '`stint changes` lists them.',
    })
  if (matches.length === 1) return newest
  if (candidates.some(({ id }) => id.startsWith(name))) throw ambiguous(name, matches)
  const liveIds = new Set(promptedSessions(process.env).map(({ sessionId }) => sessionId))
  const liveMatches = matches.filter((id) => liveIds.has(id))
  if (liveMatches.length > 1) throw ambiguous(name, liveMatches)
  return newest
}

const ambiguous = (name: string, ids: readonly string[]): StintError =>
  new StintError('ARG_ERROR', `${JSON.stringify(name)} means ${ids.length}: ${listNames(ids)}`, {
    hint: 'Write more of the id.',
  })
