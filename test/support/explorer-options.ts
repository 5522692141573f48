/** How many writers do how much, and what may happen meanwhile. */
export interface Exploration {
  writers: number
  swaps: number
  /** Epochs the driver's own compaction leaves: 1 makes it compact at every swap. */
  keptEpochs: number
  /** May an old epoch vanish at any moment, whoever is where? It stands for any number of slow drivers, each at its own compaction. */
  compactAnytime?: boolean
  /** How many writers may die, each at any point. */
  crashes?: number
  /** Does a read say what the writer's last operation has shown? */
  remembers?: boolean
  mutation?: Mutation
  /**
   * Keeps states apart that are taken for one otherwise: those that differ only in which writer is where (they are alike, and the driver
   * does not look into the texts that name them), and what `keyOf` leaves out.
   */
  unreduced?: boolean
}

/** Ways to break the protocol from outside, to see the explorer notice. */
export type Mutation =
  | 'no listing after the create'
  | 'no listing after the read'
  | 'no look for a successor'
  | 'compaction of the top'
  | 'compaction out of order'
  | 'one text for all'
