import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { isSessionId } from '../../base/text/id.ts'
import { findWorkspace } from '../../lease/index.ts'
import { type BuiltInStore, keyId, type SessionSummary } from '../index.ts'
import { listNames, matchName } from '../../cli/match-name.ts'
import { openStore } from '../../cli/store.ts'

/** The session that a name means. */
interface ResolvedSession {
  id: string
  /** Whether the whole id or key was given: then a command that destroys something need not ask. */
  isExact: boolean
}

/** The session that a command is about, and its store. */
export interface NamedSession extends ResolvedSession {
  store: BuiltInStore
}

/** Opens the store of a command that takes the name of one session, and finds the session. */
export async function openNamed(
  url: string | undefined,
  positionals: readonly string[],
  warn: (message: string) => void,
): Promise<NamedSession> {
  const store = await openStore(url, warn)
  return { store, ...(await findSession(store, idArgument(positionals))) }
}

/** The one name that a command takes, as it was typed. */
export function idArgument(positionals: readonly string[]): string {
  const [id, extra] = positionals
  if (id === undefined)
    throw new StintError('ARG_ERROR', 'no session given', {
      hint: 'Give its id, the beginning of it, its key, its agent, or . for the newest one here; `stint sessions list` shows all.',
    })
  if (extra !== undefined)
    throw new StintError(
      'ARG_ERROR',
      `one session at a time: ${JSON.stringify(extra.slice(0, 140))} is one too many`,
    )
  return id
}

/** The id of the session that a name means: see `findSession`. */
export const findId = async (store: BuiltInStore, name: string): Promise<string> =>
  (await findSession(store, name)).id

/**
 * Finds a session by its id, by its key, or by a prefix that no other id has; `ses_` may be left out.
 * Otherwise the name of an agent or program means its newest session, and `.` the newest one of this
 * workspace.
 */
export async function findSession(store: BuiltInStore, name: string): Promise<ResolvedSession> {
  const isId = name !== '.' && !name.includes('…')
  const ids = isId && isSessionId(name) ? await store.medium.ids(name) : []
  if (ids.includes(name)) return { id: name, isExact: true }
  const hash = isId ? ifPossible(() => keyId(name)) : undefined
  const [ofKey] = hash === undefined ? [] : await store.medium.ids(hash)
  if (ofKey !== undefined) return { id: ofKey, isExact: true }
  if (isId && !isSessionId(name)) throw neitherIdNorKey(name, await store.list())
  const [only, other] = ids
  if (only !== undefined && other === undefined) return { id: only, isExact: false }
  if (only !== undefined) throw ambiguous(name, ids)
  const all = await store.list()
  const here = name === '.' ? findWorkspace().path : undefined
  const { items } = matchName(
    name,
    all.map(({ id, tool, workspace }) => ({
      id,
      agent: tool,
      isHere: here !== undefined && workspace === here,
    })),
  )
  const [newest, second] = items
  if (newest === undefined) throw notFound(name, all)
  if (name.includes('…') && second !== undefined)
    throw ambiguous(
      name,
      items.map(({ id }) => id),
    )
  return { id: newest.id, isExact: false }
}

const ambiguous = (name: string, candidates: readonly string[]): StintError =>
  new StintError('ARG_ERROR', `${name} matches ${candidates.length} sessions: ${listNames(candidates)}`, {
    hint: 'Give more of the id.',
    facts: { candidates },
  })

/** The name cannot be an id, so it is a mistyped one, or a mistyped key. */
const neitherIdNorKey = (name: string, all: readonly SessionSummary[]): StintError =>
  new StintError(
    'SESSION_ID_INVALID',
    `${JSON.stringify(name.slice(0, 140))} is not a session id, and no session has it as its key`,
    { hint: whatThereIs(all) },
  )

function notFound(name: string, all: readonly SessionSummary[]): StintError {
  const which = name === '.' ? 'of this workspace' : visibleText(name, 140)
  return new StintError('NOT_FOUND', `there is no session ${which}`, { hint: whatThereIs(all) })
}

function whatThereIs(all: readonly SessionSummary[]): string {
  const names = all.map(({ id, key, state }) => `${visibleText(key ?? id, 80)} (${state})`)
  if (names.length === 0) return 'There are no sessions yet.'
  if (names.length === 1) return `There is only ${listNames(names)}.`
  return `The newest are ${listNames(names)}. \`stint sessions list\` shows them.`
}
