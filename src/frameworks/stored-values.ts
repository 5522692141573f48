import { isUtf8 } from 'node:buffer'
import { types } from 'node:util'
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint'
import { isPlain } from '../base/text/exact-json.ts'
import type { StoredValue } from './thread-history.ts'

type Awaitable<Value> = Value | Promise<Value>
type AllOf<Values extends readonly unknown[]> = { -readonly [Index in keyof Values]: Awaited<Values[Index]> }

/** The names by which LangGraph's serializer recognises what is not plain, and one that changes an object. */
const specialNames = /"(?:lc|__proto__)"/

/** Brings the values of a graph into their stored form and back, with the serializer of its saver. */
export class StoredValues {
  readonly #serde: SerializerProtocol
  readonly #isDefault: boolean
  /**
   * Values that are plain data, for which LangGraph's own serializer writes and reads ordinary JSON. `JSON`
   * is several times as fast: the serializer calls a function for each part, and awaits each when it reads.
   */
  readonly #plain = new WeakSet<StoredValue>()

  constructor(serde: SerializerProtocol, isDefault: boolean) {
    this.#serde = serde
    this.#isDefault = isDefault
  }

  /** The stored form of a value as it is now. */
  dump(value: unknown): Awaitable<StoredValue> {
    if (!this.#isDefault || !isPlain(value, 'nothing')) return this.#dumpTyped(value)
    const stored: StoredValue = ['json', JSON.stringify(value)]
    if (!specialNames.test(stored[1])) this.#plain.add(stored)
    return stored
  }

  load<Value>(stored: StoredValue): Awaitable<Value> {
    return this.#plain.has(stored) ? (JSON.parse(stored[1]) as Value) : this.#loadTyped(stored)
  }

  async #dumpTyped(value: unknown): Promise<StoredValue> {
    const [type, { buffer, byteOffset, byteLength }] = await this.#serde.dumpsTyped(value)
    const bytes = Buffer.from(buffer, byteOffset, byteLength)
    return isUtf8(bytes) ? [type, bytes.toString()] : [type, bytes.toString('base64'), 'base64']
  }

  async #loadTyped<Value>([type, text, encoding]: StoredValue): Promise<Value> {
    const isJson = type === 'json' && encoding === undefined
    // Not a Buffer: bytes that the graph has stored come back as the array they were.
    return await this.#serde.loadsTyped(type, isJson ? text : new Uint8Array(Buffer.from(text, encoding)))
  }
}

/** All values; a promise only if one of them is one. */
export const together = <const Values extends readonly unknown[]>(values: Values): Awaitable<AllOf<Values>> =>
  values.some(types.isPromise) ? Promise.all(values) : (values as AllOf<Values>)
