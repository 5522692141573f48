import { systemClock } from '../base/process/clock.ts'

/**
 * A compare-and-swap register. Each key has one text, and each change gives it the next number, its epoch.
 * Keys are never removed.
 */
export interface Register {
  /**
   * What the key holds at some moment during the call, and the time then. `known` is an epoch whose text the
   * caller has: a register may leave that text out.
   */
  read(key: string, known?: number): Promise<RegisterEntry>
  /**
   * Replaces the text of an epoch by another, with the next epoch. False: another writer was faster, or this
   * text was applied and then replaced by another writer. The caller reads again, and its change must be one
   * that can be repeated.
   */
  swap(key: string, epoch: number, text: string): Promise<boolean>
  /** All keys that were ever written. */
  keys(): Promise<string[]>
  /** Calls back when the key may have changed, but may miss changes; returns a function that stops it. */
  watch(key: string, onChange: () => void): () => void
}

export interface RegisterEntry {
  /** 0 if the key was never written. */
  epoch: number
  /** Undefined if the key was never written; for a known epoch, it may be undefined. */
  text: string | undefined
  /** The register's clock, which decides when claims expire. */
  now: Now
}

export interface Now {
  /** Milliseconds since the epoch. */
  wall: number
  /** Monotonic milliseconds; comparable only between equal `clock`s. */
  mono: number
  /** Names the monotonic clock: one boot and time namespace of one machine, or one server. */
  clock: string
}

/** Where leases are kept: a register, and what people want to see beside the claims. */
export interface LeaseStore {
  readonly register: Register
  readonly waiters: WaiterEntries
  readonly activity: ActivityLogs
  /** Set if other machines share this store: names a workspace independently of its local path. */
  readonly shared?: { nameWorkspace: (path: string) => { key: string; name: string } }
  /** Where a person finds an epoch: a path, or a table and key. */
  locate(key: string, epoch: number): string
}

/** The waiters of each key: texts. Claims do not depend on them. */
export interface WaiterEntries {
  list(key: string): Promise<{ id: string; text: string }[]>
  /** Adds a text; returns its id. */
  add(key: string, text: string): Promise<string>
  remove(key: string, id: string): Promise<void>
}

/** A bounded log of lines for each key. Claims do not depend on it. */
export interface ActivityLogs {
  /**
   * Appends lines, at once or soon. Must not throw, and must not make the caller wait. A store calls `lines`
   * when it writes; of many appends in quick succession, it may leave the oldest out.
   */
  append(key: string, lines: () => readonly string[]): void
  /** Resolves when all is written, or after a second; for a program that is about to call `process.exit`. */
  written(): Promise<void>
  /** Returns the lines, oldest first; with `lastBytes`, about that many bytes of the newest. */
  read(key: string, lastBytes?: number): Promise<string[]>
}

/** A store in memory: for tests, and for leases between the parts of one program. */
export function memoryStore(now: () => Now = processNow): LeaseStore {
  const entries = new Map<string, { epoch: number; text: string }>()
  const watchers = new Map<string, Set<() => void>>()
  const waiters = new Map<string, Map<string, string>>()
  const logs = new Map<string, string[]>()
  let lastId = 0

  const register: Register = {
    async read(key) {
      return { epoch: 0, text: undefined, ...entries.get(key), now: now() }
    },
    async swap(key, epoch, text) {
      if ((entries.get(key)?.epoch ?? 0) !== epoch) return false
      entries.set(key, { epoch: epoch + 1, text })
      for (const onChange of watchers.get(key) ?? []) setImmediate(onChange)
      return true
    },
    keys: async () => [...entries.keys()],
    watch(key, onChange) {
      const all = watchers.get(key) ?? new Set()
      watchers.set(key, all.add(onChange))
      return () => void all.delete(onChange)
    },
  }
  return {
    register,
    waiters: {
      list: async (key) => [...(waiters.get(key) ?? [])].map(([id, text]) => ({ id, text })),
      async add(key, text) {
        const id = String((lastId += 1))
        waiters.set(key, (waiters.get(key) ?? new Map<string, string>()).set(id, text))
        return id
      },
      remove: async (key, id) => void waiters.get(key)?.delete(id),
    },
    activity: {
      append: (key, lines) => void logs.set(key, [...(logs.get(key) ?? []), ...lines()]),
      written: async () => {},
      read: async (key) => logs.get(key) ?? [],
    },
    locate: (key, epoch) => `memory ${key}/${epoch}`,
  }
}

const processNow = (): Now => ({
  wall: systemClock.now(),
  mono: systemClock.mono(),
  clock: `process ${process.pid}`,
})
