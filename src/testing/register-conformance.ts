import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Register } from '../lease/index.ts'
import { type ConformanceCase, until } from './conformance-case.ts'

/**
 * The cases that every lease register must pass. `open` is called once for each case and returns an empty
 * register.
 *
 * @example
 * for (const { title, run } of registerConformance(() => myRegister())) test(title, run)
 */
export function registerConformance(open: () => Register | Promise<Register>): ConformanceCase[] {
  return Object.entries(cases).map(([title, run]) => ({ title, run: async () => run(await open()) }))
}

/** What a key holds, without the time. */
async function entryOf(register: Register, key: string): Promise<{ epoch: number; text?: string }> {
  const { epoch, text } = await register.read(key)
  return text === undefined ? { epoch } : { epoch, text }
}

/** Writes texts, each after the other. */
async function writeAll(register: Register, key: string, texts: readonly string[]): Promise<void> {
  const { epoch } = await register.read(key)
  for (const [index, text] of texts.entries()) equal(await register.swap(key, epoch + index, text), true)
}

const cases: Record<string, (register: Register) => Promise<void>> = {
  async 'a key that was never written has epoch 0 and no text'(register) {
    deepEqual(await entryOf(register, 'new'), { epoch: 0 })
    deepEqual(await register.keys(), [])
  },
  async 'a swap from the current epoch writes the next one, from 1 on'(register) {
    equal(await register.swap('k', 0, 'one'), true)
    deepEqual(await entryOf(register, 'k'), { epoch: 1, text: 'one' })
    equal(await register.swap('k', 1, 'two'), true)
    deepEqual(await entryOf(register, 'k'), { epoch: 2, text: 'two' })
  },
  // A caller swaps from what it has read: no register needs to know epochs that never were.
  async 'a swap from an older epoch changes nothing'(register) {
    await writeAll(register, 'k', ['one', 'two', 'three'])
    for (const epoch of [0, 1, 2]) equal(await register.swap('k', epoch, 'no'), false)
    deepEqual(await entryOf(register, 'k'), { epoch: 3, text: 'three' })
  },
  async 'a swap from an epoch that was overtaken long ago changes nothing'(register) {
    const texts = Array.from({ length: 50 }, (_, index) => String(index))
    await writeAll(register, 'k', texts)
    for (const epoch of [0, 10, 48]) equal(await register.swap('k', epoch, 'no'), false)
    deepEqual(await entryOf(register, 'k'), { epoch: 50, text: '49' })
  },
  async 'a swap that writes the present text again has an epoch of its own'(register) {
    await writeAll(register, 'k', ['same', 'same'])
    equal(await register.swap('k', 1, 'same'), false)
    deepEqual(await entryOf(register, 'k'), { epoch: 2, text: 'same' })
  },
  async 'a text is read back unchanged, however long and whatever its characters'(register) {
    for (const text of ['', '{}', 'ü 🙂 \n\t"\\/', 'x'.repeat(1023), 'é'.repeat(2500), '{'.repeat(100_000)]) {
      await writeAll(register, 'k', [text])
      equal((await register.read('k')).text, text)
    }
  },
  async 'keys do not affect each other, and all of them are listed'(register) {
    await writeAll(register, 'a', ['A'])
    await writeAll(register, 'b', ['B', ''])
    deepEqual(await entryOf(register, 'a'), { epoch: 1, text: 'A' })
    deepEqual((await register.keys()).toSorted(), ['a', 'b'])
  },
  async 'of many first swaps exactly one wins'(register) {
    for (let round = 0; round < 20; round++) await raceOnce(register, `k${round}`, 0)
  },
  async 'of many swaps from one epoch exactly one is applied, and no other reports that it won'(register) {
    for (let epoch = 0; epoch < 20; epoch++) await raceOnce(register, 'k', epoch)
  },
  async 'counters that read and swap concurrently lose no count'(register) {
    const count = async (writer: string): Promise<void> => {
      for (let wins = 0, tries = 0; wins < 10; tries++) {
        const { epoch, text = '0' } = await register.read('k')
        const next = `${Number.parseInt(text) + 1} is the try ${tries} of ${writer}`
        if (await register.swap('k', epoch, next)) wins += 1
      }
    }
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(count))
    // A swap that won and was overtaken at once may report a loss and is repeated: the count may be higher.
    const { epoch, text = '' } = await register.read('k')
    ok(Number.parseInt(text) >= 60)
    equal(Number.parseInt(text), epoch)
  },
  async 'each read has the time of one clock, which does not run backwards'(register) {
    const { now: first } = await register.read('k')
    await writeAll(register, 'k', ['text'])
    const { now: second } = await register.read('k')
    const { now: other } = await register.read('other')
    ok(second.mono >= first.mono)
    ok(Math.abs(second.wall - first.wall) < 60_000)
    ok(first.clock !== '')
    deepEqual([second.clock, other.clock], [first.clock, first.clock])
  },
  async 'a watcher is called when its key changes, and stopping it twice does no harm'(register) {
    await writeAll(register, 'k', ['one'])
    let isCalled = false
    const stop = register.watch('k', () => {
      isCalled = true
    })
    // A watcher may start with a delay, so make changes until it is called.
    await until('the watcher is called', async () => {
      const { epoch } = await register.read('k')
      await register.swap('k', epoch, `text ${epoch}`)
      return isCalled
    }).finally(stop)
    stop()
  },
}

/** Several writers swap from one epoch at once. */
async function raceOnce(register: Register, key: string, epoch: number): Promise<void> {
  const texts = Array.from({ length: 8 }, (_, index) => `${epoch}-${index}`)
  const results = await Promise.all(texts.map((text) => register.swap(key, epoch, text)))
  const winners = texts.filter((_, index) => results[index])
  const entry = await register.read(key)
  equal(entry.epoch, epoch + 1)
  ok(texts.includes(entry.text ?? ''))
  // A winner whose answer was lost may report a loss.
  deepEqual(winners, winners.length === 0 ? [] : [entry.text])
}
