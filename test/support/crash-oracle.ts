import type { Facts } from './crash-facts.ts'

/** A request of a workload, and after how many changes of the disk the answer came. */
export interface Submission {
  name: string
  acknowledged?: number
  rejected?: number
  /** How many audit lines were asked for before it; undefined for a record that a fork has copied. */
  lines?: number
}

/** Knows, independently of the store, which records a session must have. */
export class Oracle {
  readonly journal: Submission[] = []
  readonly audit: Submission[] = []
  readonly closes: Submission[] = []
  readonly created: Submission = { name: 'create' }
  /** Grows with every answer. */
  version = 0
  /** The process of the workload is dead: answers no longer reach it. */
  deaf = false
  now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  /** Makes a request and notes its answer. */
  async ask<T>(list: Submission[], name: string, asking: () => Promise<T>): Promise<T | undefined> {
    const submission: Submission = { name, lines: this.audit.length }
    list.push(submission)
    try {
      const answer = await asking()
      this.acknowledge(submission)
      return answer
    } catch {
      this.reject(submission)
      return undefined
    }
  }

  reject(submission: Submission): void {
    if (this.deaf || submission.acknowledged !== undefined) return
    submission.rejected = this.now()
    this.version += 1
  }

  acknowledge(submission: Submission): void {
    if (this.deaf) return
    submission.acknowledged = this.now()
    this.version += 1
  }

  /**
   * A session was resumed with these records: from now on it must have them, and must never show the others
   * again.
   */
  resumed({ journal, audit }: Pick<Facts, 'journal' | 'audit'>): void {
    for (const [list, there] of [
      [this.journal, journal],
      [this.audit, audit],
    ] as const)
      for (const submission of list)
        if (there.includes(submission.name)) submission.acknowledged ??= this.now()
        else if (submission.acknowledged === undefined) submission.rejected ??= this.now()
    this.version += 1
  }

  /** The oracle of the next process, with what the process that crashed at this moment knew. */
  crashedAt(at: number, now: () => number): Oracle {
    const next = new Oracle(now)
    const known = ({ name, acknowledged, rejected }: Submission): Submission[] => {
      if (acknowledged !== undefined && acknowledged <= at) return [{ name, acknowledged: 0 }]
      return rejected !== undefined && rejected <= at ? [] : [{ name }]
    }
    for (const list of ['journal', 'audit', 'closes'] as const) next[list].push(...this[list].flatMap(known))
    Object.assign(next.created, known(this.created)[0])
    return next
  }

  /** Returns what is wrong with a session after a crash at this moment. */
  judge(facts: Facts, at: number): string[] {
    const wrong = [
      ...prefixFaults('journal', this.journal, facts.journal, at),
      ...prefixFaults('audit', this.audit, facts.audit, at),
      ...this.#orderFaults(facts),
    ]
    const closes = this.closes.filter(({ acknowledged = Infinity }) => acknowledged <= at).length
    if (facts.closes < closes) wrong.push(`${closes} acknowledged closes, ${facts.closes} in the manifest`)
    if (facts.state !== facts.replayed)
      wrong.push(`the state ${facts.state} is not what the logs say: ${facts.replayed}`)
    return wrong
  }

  /** A journal record must not outlive an audit line that was asked for before it, and was not rejected. */
  #orderFaults({ journal, audit }: Facts): string[] {
    return this.journal.flatMap(({ name, lines }) => {
      if (!journal.includes(name)) return []
      const lost = this.audit
        .slice(0, lines ?? 0)
        .filter((line) => line.lines !== undefined && line.rejected === undefined)
        .filter((line) => !audit.includes(line.name))
      return lost.map((line) => `journal: ${name} outlives the earlier audit line ${line.name}`)
    })
  }
}

/** The records must be a prefix of the requests that were not rejected, and include all acknowledged ones. */
function prefixFaults(
  log: string,
  asked: readonly Submission[],
  found: readonly string[],
  at: number,
): string[] {
  const possible = asked.filter(({ rejected = Infinity }) => rejected > at)
  const wrong = found.flatMap((name, i) =>
    name === possible[i]?.name ? [] : [`${log}: ${name} where ${possible[i]?.name ?? 'nothing'} belongs`],
  )
  for (const { name, acknowledged = Infinity } of possible.slice(found.length))
    if (acknowledged <= at) wrong.push(`${log}: acknowledged ${name} is lost`)
  return wrong
}
