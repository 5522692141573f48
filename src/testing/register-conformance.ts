import { deepEqual, equal, ok } from 'node:assert/strict'
import { runAsync, runSync } from '../base/process/run-generator.ts'
import type { Register, RegisterEntry } from '../lease/index.ts'
import { type ConformanceCase, until } from './conformance-case.ts'

/** What a read returns for a key that was never written. */
const nothing: RegisterEntry = { epoch: 0, text: undefined }

/**
 * The cases that every lease register must pass. `open` is called once for each case and returns an empty
 * register.
 *
 * @example
 * for (const { title, run } of registerConformance(() => myRegister())) test(title, run)
 */
export function registerConformance(open: () => Register | Promise<Register>): ConformanceCase[] {
  const read = (register: Register, key: string, known?: RegisterEntry) =>
    runAsync(register, register.read(key, known))
  const swap = (register: Register, key: string, before: RegisterEntry, text: string) =>
    runAsync(register, register.swap(key, before, text))
  /** Writes texts, each after the other; returns the entries. */
  const writeAll = async (register: Register, key: string, texts: readonly string[]) => {
    const entries: RegisterEntry[] = []
    let before = await read(register, key)
    for (const text of texts) {
      const epoch = await swap(register, key, before, text)
      equal(epoch, before.epoch + 1)
      before = { epoch: before.epoch + 1, text }
      entries.push(before)
    }
    return entries
  }

  const cases: Record<string, (register: Register) => Promise<void>> = {
    async 'a key that was never written has epoch 0 and no text'(register) {
      deepEqual(await read(register, 'new'), nothing)
    },
    async 'a swap from the current entry writes the next epoch'(register) {
      equal(await swap(register, 'k', nothing, 'one'), 1)
      deepEqual(await read(register, 'k'), { epoch: 1, text: 'one' })
      equal(await swap(register, 'k', { epoch: 1, text: 'one' }, 'two'), 2)
      deepEqual(await read(register, 'k'), { epoch: 2, text: 'two' })
    },
    async 'a key starts after the number that its first swap gives; of several, one wins'(register) {
      const start = 1_700_000_000_000
      const numbers = [5, 0, 3, 8, 1, 4].map((more) => start + more)
      const epochs = await Promise.all(
        numbers.map((epoch) => swap(register, 'k', { epoch, text: undefined }, `after ${epoch}`)),
      )
      const [won, ...others] = epochs.filter((epoch) => epoch !== undefined)
      deepEqual(others, [])
      const { epoch, text } = await read(register, 'k')
      ok(won === undefined || won === epoch)
      equal(text, `after ${epoch - 1}`)
      for (const late of [start - 1, start + 100])
        equal(await swap(register, 'k', { epoch: late, text: undefined }, `late ${late}`), undefined)
      deepEqual(await read(register, 'k'), { epoch, text })
      equal(await swap(register, 'k', { epoch, text }, 'next'), epoch + 1)
    },
    async 'a removal, if there is one, needs the current entry, and no old swap undoes it'(register) {
      const { remove } = register
      if (remove === undefined) return
      const [one, two] = [
        { epoch: 1, text: 'one' },
        { epoch: 2, text: 'two' },
      ]
      await writeAll(register, 'other', ['stays'])
      await writeAll(register, 'k', ['one', 'two'])
      equal(await runAsync(register, remove('k', one)), false)
      deepEqual(await read(register, 'k'), two)
      equal(await runAsync(register, remove('k', two)), true)
      deepEqual(await read(register, 'k', two), nothing)
      deepEqual(await runAsync(register, register.keys()), ['other'])
      for (const old of [one, two]) equal(await swap(register, 'k', old, 'late'), undefined)
      deepEqual(await read(register, 'k'), nothing)
      equal(await swap(register, 'k', { epoch: 100, text: undefined }, 'again'), 101)
      for (const old of [one, two]) equal(await swap(register, 'k', old, 'later'), undefined)
      deepEqual(await read(register, 'k'), { epoch: 101, text: 'again' })
    },
    async 'a swap from any other entry changes nothing'(register) {
      const entries = await writeAll(register, 'k', ['one', 'two', 'three'])
      for (const old of [nothing, ...entries.slice(0, 2)])
        equal(await swap(register, 'k', old, 'no'), undefined)
      deepEqual(await read(register, 'k'), { epoch: 3, text: 'three' })
    },
    async 'a swap from an entry that was overtaken long ago changes nothing'(register) {
      const texts = Array.from({ length: 50 }, (_, i) => String(i))
      const entries = [nothing, ...(await writeAll(register, 'k', texts))]
      for (const epoch of [0, 10, 48])
        equal(await swap(register, 'k', entries[epoch] ?? nothing, 'no'), undefined)
      deepEqual(await read(register, 'k'), { epoch: 50, text: '49' })
    },
    async 'a text is read back unchanged, however long and whatever its characters'(register) {
      for (const text of ['{}', 'ü 🙂 \n\t"\\/', 'x'.repeat(1023), 'é'.repeat(2500), '{'.repeat(100_000)]) {
        await writeAll(register, 'k', [text])
        equal((await read(register, 'k')).text, text)
      }
    },
    async 'a read with a known entry returns what the register holds now'(register) {
      const readKnowing = (epoch: number, text: string) => read(register, 'k', { epoch, text })
      await writeAll(register, 'k', ['one', 'two', 'three'])
      const now = { epoch: 3, text: 'three' }
      deepEqual(await readKnowing(3, 'three'), now)
      deepEqual(await readKnowing(2, 'two'), now)
      deepEqual(await readKnowing(3, 'another three'), now)
      deepEqual(await readKnowing(4, 'four'), now)
      deepEqual(await read(register, 'other', now), nothing)
    },
    async 'a watcher is called when a key changes, and stopping it twice does no harm'(register) {
      if (register.watch === undefined) return
      await writeAll(register, 'k', ['one'])
      let heard = false
      const stop = register.watch('k', () => {
        heard = true
      })
      // A watcher may start with a delay, so make changes until it is called.
      await until('the watcher is called', async () => {
        const before = await read(register, 'k')
        await swap(register, 'k', before, `text ${before.epoch}`)
        return heard
      }).finally(stop)
      stop()
    },
    async 'keys do not affect each other, and all of them are listed'(register) {
      await writeAll(register, 'a', ['A'])
      await writeAll(register, 'b', ['B'])
      deepEqual(await read(register, 'a'), { epoch: 1, text: 'A' })
      deepEqual((await runAsync(register, register.keys())).toSorted(), ['a', 'b'])
    },
    async 'of many swaps from one entry exactly one wins, and no other reports that it won'(register) {
      let before = await read(register, 'k')
      for (let round = 0; round < 20; round++) {
        const tries = Array.from({ length: 8 }, (_, i) => swap(register, 'k', before, `${round}-${i}`))
        const won = (await Promise.all(tries)).flatMap((result, i) => (result === undefined ? [] : [i]))
        ok(won.length <= 1)
        const held = await read(register, 'k')
        equal(held.epoch, before.epoch + 1)
        if (won.length === 1) equal(held.text, `${round}-${won[0]}`)
        before = held
      }
    },
    async 'counters that read and swap concurrently lose no count'(register) {
      const count = async (writer: string) => {
        for (let done = 0, tries = 0; done < 10; tries++) {
          const before = await read(register, 'k')
          const next = `${Number.parseInt(before.text ?? '0') + 1} is the try ${tries} of ${writer}`
          if ((await swap(register, 'k', before, next)) !== undefined) done += 1
        }
      }
      await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(count))
      // A swap that won and was overtaken at once reports a loss and is repeated: the count may be higher.
      ok(Number.parseInt((await read(register, 'k')).text ?? '') >= 60)
    },
    async 'it reports when a text was written, by its own clock, which does not run backwards'(register) {
      const before = await runAsync(register, register.now())
      await writeAll(register, 'k', ['text'])
      const after = await runAsync(register, register.now())
      const writtenAt = await runAsync(register, register.writtenAt('k'))
      ok(writtenAt !== undefined && Math.abs(writtenAt - after.wall) < 60_000)
      ok(after.mono >= before.mono && after.clock === before.clock)
    },
    async 'if it has queues of waiters, each has the next number, and is there until it is removed'(
      register,
    ) {
      const { waiters } = register
      if (waiters === undefined) return
      const numbers = (key: string) => runAsync(register, waiters.numbers(key))
      deepEqual(await numbers('k'), [])
      const texts = ['one', 'two', 'three', 'four']
      const added = await Promise.all(texts.map((text) => runAsync(register, waiters.add('k', text))))
      const [first = 0, second = 0, third = 0, last = 0] = added.toSorted((a, b) => a - b)
      equal(new Set(added).size, texts.length)
      deepEqual(await numbers('k'), [first, second, third, last])
      deepEqual(await numbers('other'), [])
      const before = await runAsync(register, waiters.read('k', first))
      equal(before?.text, texts[added.indexOf(first)])
      equal(await runAsync(register, waiters.touch('k', first)), true)
      const touched = await runAsync(register, waiters.read('k', first))
      const now = await runAsync(register, register.now('k'))
      ok(touched !== undefined && touched.touchedAt >= (before?.touchedAt ?? Infinity))
      ok(Math.abs(now.wall - touched.touchedAt) < 60_000)
      for (const number of [second, second, first]) await runAsync(register, waiters.remove('k', number))
      equal(await runAsync(register, waiters.read('k', first)), undefined)
      equal(await runAsync(register, waiters.touch('k', first)), false)
      const next = await runAsync(register, waiters.add('k', 'five'))
      ok(next > last)
      deepEqual(await numbers('k'), [third, last, next])
      for (const number of [third, last, next]) await runAsync(register, waiters.remove('k', number))
      deepEqual(await numbers('k'), [])
      deepEqual(await runAsync(register, register.keys()), [])
    },
    async 'if it has a synchronous form, each form reads what the other has written'(register) {
      if (register.performSync === undefined) return
      equal(runSync(register, register.swap('k', nothing, 'sync')), 1)
      const written = { epoch: 1, text: 'sync' }
      deepEqual(await read(register, 'k'), written)
      equal(await swap(register, 'k', written, 'async'), 2)
      deepEqual(runSync(register, register.read('k')), { epoch: 2, text: 'async' })
    },
  }
  return Object.entries(cases).map(([title, run]) => ({ title, run: async () => run(await open()) }))
}
