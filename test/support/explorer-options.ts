/** The bounds of an exploration, and what may happen during it. */
export interface Exploration {
  writers: number
  swaps: number
  /** How many epochs the driver's own compaction keeps; with 1 it compacts at every swap. */
  keptEpochs: number
  /** Whether an old epoch may vanish at any moment, as if slow drivers compacted at any time. */
  compactAnytime?: boolean
  /** How many writers may die, each at any point. */
  crashes?: number
  /** How many of the writers sweep: instead of swaps, they remove the entry that they have read. */
  sweepers?: number
  /** Whether a read passes the result of the writer's last operation as `known`. */
  remembers?: boolean
  mutation?: Mutation
  /**
   * Keeps states apart that are merged otherwise: those that differ only in which writer is where (writers
   * are alike, and the driver ignores the content of the texts that name them), or in what `keyOf` leaves
   * out.
   */
  unreduced?: boolean
}

/** Ways to break the protocol from outside, each of which the explorer must find. */
export type Mutation =
  | 'no listing after the create'
  | 'no look at the epoch before'
  | 'no look below the oldest epoch'
  | 'no listing after the read'
  | 'no look for a successor'
  | 'compaction of the top'
  | 'compaction out of order'
  | 'one text for all'
  | 'a first epoch by name only'
  | 'a process that sleeps through a sweep'
