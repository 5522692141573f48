import { HumanMessage } from '@langchain/core/messages'
import { MemorySaver } from '@langchain/langgraph-checkpoint'
import { expect, test } from 'vitest'
import { StoredValues } from './stored-values.ts'

const { serde } = new MemorySaver()

const shared = { a: 1 }
const cyclic: Record<string, unknown> = { name: 'cycle' }
cyclic.self = cyclic

const values: Record<string, unknown> = {
  'plain data': {
    messages: [{ role: 'user', text: 'Grüße, "Ada"\u2028' }],
    n: -1.5e300,
    yes: true,
    no: null,
  },
  'an object that stands in two places': [shared, { shared }],
  'an empty list, text and object': [[], '', {}],
  'half of a surrogate pair': { text: '\ud800', '\udfff': 1 },
  'a property that is undefined': { a: undefined },
  'undefined in a list': [undefined],
  undefined: undefined,
  'numbers that JSON does not have': [NaN, Infinity, -0],
  'a Map, a Set, a RegExp and an Error': [new Map([['a', 1]]), new Set([1]), /a/g, new Error('no')],
  'a Date and an object with toJSON': [new Date(0), { toJSON: () => ({ kept: 1 }) }],
  'a class': new (class {
    readonly field = 1
  })(),
  'bytes, and bytes in an object': { bytes: new Uint8Array([1, 255]) },
  'bytes alone': new Uint8Array([0xff, 0]),
  'a message of LangChain': [new HumanMessage('hello')],
  'data that looks like a message or like undefined': [
    { lc: 2, type: 'undefined' },
    { lc: 1, type: 'constructor', id: ['unknown'] },
    { lc: 3 },
  ],
  'a property named __proto__': JSON.parse('{"__proto__":{"a":1}}'),
  'an object without a prototype': Object.assign(Object.create(null), { a: 1 }),
  'a list with holes': Object.assign([1], { 2: 2 }),
  'a cycle': cyclic,
}

test.each(Object.entries(values))(
  '%s is stored and read as LangGraph’s own serializer does it',
  async (_, value) => {
    const stored = new StoredValues(serde, true)
    const [type, bytes] = await serde.dumpsTyped(value)
    const dumped = await stored.dump(value)
    const [storedType, text, encoding] = dumped
    expect([storedType, Buffer.from(text, encoding)]).toEqual([type, Buffer.from(bytes)])
    const expected: unknown = await serde.loadsTyped(type, bytes)
    // The saver that has written a value, and any other, read the same.
    for (const each of [dumped, [...dumped] as const]) {
      const loaded = await stored.load(each)
      expect(loaded).toStrictEqual(expected)
      // A property named __proto__ shows here.
      expect(Object.getOwnPropertyNames(loaded ?? {})).toEqual(Object.getOwnPropertyNames(expected ?? {}))
    }
  },
)

test('a value that was read can be changed: the next reader gets it as it was stored', async () => {
  const stored = new StoredValues(serde, true)
  const value = { list: [1] }
  const dumped = await stored.dump(value)
  value.list.push(2)
  const read = await stored.load<typeof value>(dumped)
  read.list.push(3)
  expect(await stored.load(dumped)).toEqual({ list: [1] })
})

test('a serializer of the program gets every value, plain ones too', async () => {
  const own = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
      'own',
      Buffer.from(`<${String(value)}>`),
    ],
    loadsTyped: async (_type: string, data: Uint8Array | string) =>
      Buffer.from(data as Uint8Array).toString(),
  }
  const stored = new StoredValues(own, false)
  const dumped = await stored.dump('plain')
  expect([dumped, await stored.load(dumped)]).toEqual([['own', '<plain>'], '<plain>'])
})
