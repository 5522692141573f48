/**
 * A model to explore: a state is a row of small numbers of fixed length, and the model knows its successors.
 */
export interface Model {
  start: readonly number[]
  /** Passes each successor to `found`, with the number of the move. The row may be reused after the call. */
  moves(state: Row, found: Found): Promise<void>
  describe(state: Row, move: number): Promise<string>
  /** The state of the reduced model that this state is merged into, to check the reduction. */
  classOf?: (state: Row) => Row
}

export type Row = Uint32Array<ArrayBuffer>
export type Found = (next: Row, move: number, violation?: string) => void

export interface Explored {
  states: number
  classes?: number
  /** The first violation found, and the steps that led to it. */
  violation?: string
  trace?: string[]
}

/** Visits every state once, the nearest first, so that a violation is found with the fewest steps. */
export async function search(model: Model): Promise<Explored> {
  const { start, classOf } = model
  const states = new States(start.length)
  const classes = new States(start.length)
  const state = new Uint32Array(start.length)
  const count = () => ({ states: states.count, ...(classOf && { classes: classes.count }) })
  let wrong: { violation: string; move: number } | undefined
  states.add(Uint32Array.from(start), 0)
  for (let index = 0; index < states.count; index++) {
    states.read(index, state)
    if (classOf !== undefined) classes.add(classOf(state), 0)
    await model.moves(state, (next, move, violation) => {
      if (violation === undefined) states.add(next, index)
      else wrong ??= { violation, move }
    })
    if (wrong === undefined) continue
    const { violation, move } = wrong
    const trace = [...(await traceTo(model, states, index)), await model.describe(state, move)]
    return { ...count(), violation, trace }
  }
  return count()
}

/** States store only their predecessor: the moves between them are computed again. */
async function traceTo(model: Model, states: States, index: number): Promise<string[]> {
  const trace: string[] = []
  const width = model.start.length
  const child = new Uint32Array(width)
  const parent = new Uint32Array(width)
  for (let at = index; at !== 0; at = states.parentOf(at)) {
    states.read(at, child)
    states.read(states.parentOf(at), parent)
    let move: number | undefined
    await model.moves(parent, (next, how) => {
      if (next.every((cell, column) => cell === child[column])) move ??= how
    })
    trace.unshift(await model.describe(parent, move ?? 0))
  }
  return trace
}

/** An ordered set of rows with their predecessors: whole rows, not hashes, of about 30 bytes each. */
class States {
  count = 0
  readonly #width: number
  #cells: Row
  #parents = new Uint32Array(1024)
  /** A hash table of row indexes plus one; 0 is a free slot. At most half of the slots are used. */
  #slots = new Uint32Array(2048)

  constructor(width: number) {
    this.#width = width
    this.#cells = new Uint32Array(1024 * width)
  }

  read(index: number, into: Row): void {
    const from = index * this.#width
    for (let column = 0; column < this.#width; column++) into[column] = this.#cells[from + column] ?? 0
  }

  parentOf(index: number): number {
    return this.#parents[index] ?? 0
  }

  /** Adds the row; false if it is in the set already. */
  add(row: Row, parent: number): boolean {
    const slot = this.#slotOf(row, 0)
    if (this.#slots[slot] !== 0) return false
    if (this.count === this.#parents.length) {
      this.#grow()
      return this.add(row, parent)
    }
    this.#cells.set(row, this.count * this.#width)
    this.#parents[this.count] = parent
    this.#slots[slot] = ++this.count
    return true
  }

  /** The slot of this row, or the free slot where it belongs. */
  #slotOf(cells: Row, from: number): number {
    const mask = this.#slots.length - 1
    let slot = hashOf(cells, from, this.#width) & mask
    for (;;) {
      const index = this.#slots[slot] ?? 0
      if (index === 0 || this.#has(index - 1, cells, from)) return slot
      slot = (slot + 1) & mask
    }
  }

  #has(index: number, cells: Row, from: number): boolean {
    const start = index * this.#width
    for (let column = 0; column < this.#width; column++)
      if (this.#cells[start + column] !== cells[from + column]) return false
    return true
  }

  #grow(): void {
    this.#cells = doubled(this.#cells)
    this.#parents = doubled(this.#parents)
    this.#slots = new Uint32Array(this.#slots.length * 2)
    for (let index = 0; index < this.count; index++)
      this.#slots[this.#slotOf(this.#cells, index * this.#width)] = index + 1
  }
}

function doubled(cells: Row): Row {
  const all = new Uint32Array(cells.length * 2)
  all.set(cells)
  return all
}

function hashOf(cells: Row, from: number, width: number): number {
  let hash = 0
  for (let column = 0; column < width; column++) {
    hash = Math.imul(hash ^ (cells[from + column] ?? 0), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash, 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** Numbers values: equal keys get equal numbers. */
export class Numbered<Value> {
  readonly #numbers = new Map<string, number>()
  readonly #values: Value[] = []

  numberOf(key: string, value: Value): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#numbers.set(key, this.#values.length)
    return this.#values.push(value) - 1
  }

  valueOf(number: number): Value {
    const value = this.#values[number]
    if (value === undefined) throw new Error(`no value has the number ${number}`)
    return value
  }
}
