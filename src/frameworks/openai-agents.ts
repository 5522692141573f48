/**
 * A session for the OpenAI Agents SDK: its items are on disk when a call resolves, each change is there as a
 * whole or not at all, and a transaction that is applied again changes nothing.
 *
 * @module stint/openai-agents
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransaction,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'
import { StintError } from '../base/errors/stint-error.ts'
import type { HoldOptions, SessionStore } from '../session/index.ts'
import { type Fold, FoldedSessions } from './folded-sessions.ts'
import { importPeer } from './import-peer.ts'

const { applySessionHistoryMutations, MemorySession } = await importPeer(
  'stint/openai-agents',
  '@openai/agents-core',
  () => import('@openai/agents-core'),
)

/** How deep the items are searched for undefined; a cycle would never end. */
const maxDepth = 32

/** A change of the history: the newest `drop` items go, and others come. */
interface Change {
  drop: number
  items: AgentInputItem[]
  /** Set if the change is a transaction. */
  operation?: { id: string; type: SessionHistoryTransaction['type'] }
}

/** The data of a `change` event. The SDK's items are JSON, except that some properties are undefined. */
type ChangeData = Omit<Change, 'items'> &
  ({ items: AgentInputItem[]; undefined?: string[][] } | { /** Other items, such as bytes. */ v8: string })

interface History {
  items: AgentInputItem[]
  /** The transactions that were applied, by operation. */
  operations: Map<string, SessionHistoryTransaction>
}

const fold: Fold<History> = {
  empty: () => ({ items: [], operations: new Map() }),
  apply(history, { type, data }) {
    if (type === 'clear') Object.assign(history, fold.empty())
    if (type === 'change') applyChange(history, decoded(data as ChangeData))
  },
}

export interface StintSessionOptions extends Pick<HoldOptions, 'idle' | 'wait'> {
  /** Any text; a new one by default. */
  sessionId?: string
}

/**
 * Keeps the history of a conversation in a session of a store.
 *
 * @example
 * const session = new StintSession(filesystemStore(), { sessionId: 'user-7' })
 * await run(agent, 'hello', { session })
 */
export class StintSession
  implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession
{
  readonly #sessions: FoldedSessions<History>
  readonly #id: string

  constructor(store: SessionStore, { sessionId = randomUUID(), ...options }: StintSessionOptions = {}) {
    if (typeof sessionId !== 'string' || sessionId === '')
      throw new StintError('ARG_ERROR', 'the sessionId must be a string that is not empty')
    this.#id = sessionId
    this.#sessions = new FoldedSessions(store, 'openai-agents', fold, options)
  }

  async getSessionId(): Promise<string> {
    return this.#id
  }

  async getItems(limit = Infinity): Promise<AgentInputItem[]> {
    const { items } = await this.#sessions.read(this.#id)
    return limit <= 0 ? [] : structuredClone(items.slice(Math.max(items.length - limit, 0)))
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return
    const added = structuredClone(items)
    await this.#change(() => ({ drop: 0, items: added }))
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    let popped: AgentInputItem | undefined
    await this.#change(({ items }) => {
      popped = structuredClone(items.at(-1))
      return items.length === 0 ? undefined : { drop: 1, items: [] }
    })
    return popped
  }

  async clearSession(): Promise<void> {
    await this.#sessions.append(this.#id, async () => [{ type: 'clear' }])
  }

  /** The SDK's own session judges the change, on a copy of the items that it concerns. */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    await this.#change(async ({ items, operations }) => {
      const known = operations.get(args?.operationId)
      if (known !== undefined) {
        const trial = new MemorySession({
          initialItems: known.type === 'append_items' ? [] : known.expectedSuffix,
        })
        await trial.applyHistoryTransaction({ ...args, transaction: known })
        await trial.applyHistoryTransaction(args)
        return undefined
      }
      const { operationId: id, transaction } = args ?? {}
      const suffix = transaction?.type === 'replace_suffix' ? transaction.expectedSuffix : []
      const drop = Array.isArray(suffix) ? Math.min(suffix.length, items.length) : 0
      const trial = new MemorySession({ initialItems: items.slice(items.length - drop) })
      await trial.applyHistoryTransaction(args)
      return { drop, items: await trial.getItems(), operation: { id, type: transaction.type } }
    })
  }

  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    if (mutations.length === 0) return
    await this.#change(({ items }) => {
      const rewritten = structuredClone(applySessionHistoryMutations(items, mutations))
      const isKept = (item: AgentInputItem, index: number): boolean => isDeepStrictEqual(item, items[index])
      const kept = rewritten.findIndex((item, index) => !isKept(item, index))
      if (kept < 0 && rewritten.length === items.length) return undefined
      const start = kept < 0 ? rewritten.length : kept
      return { drop: items.length - start, items: rewritten.slice(start) }
    })
  }

  async #change(
    decide: (history: History) => Promise<Change | undefined> | Change | undefined,
  ): Promise<void> {
    await this.#sessions.append(this.#id, async (history) => {
      const change = await decide(history)
      return change === undefined ? [] : [{ type: 'change', data: encoded(change) }]
    })
  }
}

function applyChange({ items, operations }: History, { drop, items: added, operation }: Change): void {
  const dropped = items.splice(items.length - drop)
  for (const item of added) items.push(item)
  if (operation?.type === 'append_items') operations.set(operation.id, { type: operation.type, items: added })
  if (operation?.type === 'replace_suffix')
    operations.set(operation.id, { type: operation.type, expectedSuffix: dropped, replacement: added })
}

function encoded({ items, ...change }: Change): ChangeData {
  const paths = [...pathsOfUndefined(items)]
  const data: ChangeData = { ...change, items, ...(paths.length > 0 && { undefined: paths }) }
  return comesBack(data, items) ? data : { ...change, v8: serialize(items).toString('base64') }
}

function decoded(data: ChangeData): Change {
  if ('v8' in data) return { ...data, items: deserialize(Buffer.from(data.v8, 'base64')) as AgentInputItem[] }
  const items = structuredClone(data.items)
  for (const path of data.undefined ?? []) {
    const names = path.slice(0, -1)
    const parent = names.reduce<unknown>((value, name) => (value as AgentInputItem)[name], items)
    Object.assign(parent as object, { [path.at(-1) ?? '']: undefined })
  }
  return { ...data, items }
}

function* pathsOfUndefined(value: unknown, path: string[] = []): Generator<string[]> {
  if (value === undefined) yield path
  if (path.length > maxDepth || typeof value !== 'object' || value === null || ArrayBuffer.isView(value))
    return
  for (const [name, each] of Object.entries(value)) yield* pathsOfUndefined(each, [...path, name])
}

/** Will a reader get these items? Not if there are cycles, bytes, or numbers that JSON does not have. */
function comesBack(data: ChangeData, items: AgentInputItem[]): boolean {
  try {
    return isDeepStrictEqual(decoded(JSON.parse(JSON.stringify(data)) as ChangeData).items, items)
  } catch {
    return false
  }
}
