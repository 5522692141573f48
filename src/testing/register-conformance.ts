import { deepEqual, equal, ok } from 'node:assert/strict'
import { asyncRegister, type Register, syncRegister } from '../lease/index.ts'
import { type ConformanceCase, until } from './conformance-case.ts'

/**
 * The cases that every lease register must pass. `open` is called once for each case and returns an empty
 * register.
 *
 * @example
 * for (const { title, run } of registerConformance(() => myRegister())) test(title, run)
 */
export function registerConformance(open: () => Register | Promise<Register>): ConformanceCase[] {
  const read = (register: Register, key: string) => asyncRegister(register).read(key)
  const swap = (register: Register, key: string, epoch: number, text: string) =>
    asyncRegister(register).swap(key, epoch, text)

  const cases: [string, (register: Register) => Promise<void>][] = [
    [
      'a key that was never written has epoch 0 and no text',
      async (register) => {
        deepEqual(await read(register, 'new'), { epoch: 0, text: undefined })
      },
    ],
    [
      'a swap from the current epoch writes the next one',
      async (register) => {
        equal(await swap(register, 'k', 0, 'one'), 1)
        deepEqual(await read(register, 'k'), { epoch: 1, text: 'one' })
        equal(await swap(register, 'k', 1, 'two'), 2)
        deepEqual(await read(register, 'k'), { epoch: 2, text: 'two' })
      },
    ],
    [
      'a swap from any other epoch changes nothing',
      async (register) => {
        for (const text of ['one', 'two', 'three'])
          await swap(register, 'k', (await read(register, 'k')).epoch, text)
        for (const epoch of [0, 1, 2]) equal(await swap(register, 'k', epoch, 'no'), undefined)
        deepEqual(await read(register, 'k'), { epoch: 3, text: 'three' })
      },
    ],
    [
      'a swap from an epoch that was overtaken long ago changes nothing',
      async (register) => {
        for (let epoch = 0; epoch < 50; epoch++)
          equal(await swap(register, 'k', epoch, String(epoch)), epoch + 1)
        for (const epoch of [0, 10, 48]) equal(await swap(register, 'k', epoch, 'no'), undefined)
        deepEqual(await read(register, 'k'), { epoch: 50, text: '49' })
      },
    ],
    [
      'a text is read back unchanged, however long and whatever its characters',
      async (register) => {
        for (const text of ['{}', 'ü 🙂 \n\t"\\/', 'x'.repeat(1023), 'é'.repeat(2500), '{'.repeat(100_000)]) {
          const { epoch } = await read(register, 'k')
          equal(await swap(register, 'k', epoch, text), epoch + 1)
          equal((await read(register, 'k')).text, text)
        }
      },
    ],
    [
      'a read with a known entry returns what the register holds now',
      async (register) => {
        const readKnowing = (epoch: number, text: string) =>
          asyncRegister(register).read('k', { epoch, text })
        for (const [epoch, text] of ['one', 'two', 'three'].entries()) await swap(register, 'k', epoch, text)
        const now = { epoch: 3, text: 'three' }
        deepEqual(await readKnowing(3, 'three'), now)
        deepEqual(await readKnowing(2, 'two'), now)
        deepEqual(await readKnowing(3, 'another three'), now)
        deepEqual(await readKnowing(4, 'four'), now)
        deepEqual(await asyncRegister(register).read('other', { epoch: 3, text: 'three' }), {
          epoch: 0,
          text: undefined,
        })
      },
    ],
    [
      'a watcher is called when a key changes, and stopping it twice does no harm',
      async (register) => {
        if (register.watch === undefined) return
        await swap(register, 'k', 0, 'one')
        let heard = false
        const stop = register.watch('k', () => {
          heard = true
        })
        let epoch = 1
        // A watcher may start with a delay, so make changes until it is called.
        await until('the watcher is called', async () => {
          epoch = (await swap(register, 'k', epoch, `text ${epoch}`)) ?? epoch
          return heard
        }).finally(stop)
        stop()
      },
    ],
    [
      'keys do not affect each other, and all of them are listed',
      async (register) => {
        await swap(register, 'a', 0, 'A')
        await swap(register, 'b', 0, 'B')
        deepEqual(await read(register, 'a'), { epoch: 1, text: 'A' })
        deepEqual((await asyncRegister(register).keys()).toSorted(), ['a', 'b'])
      },
    ],
    [
      'of many swaps from one epoch exactly one wins, and no other reports that it won',
      async (register) => {
        for (let epoch = 0; epoch < 20; epoch++) {
          const tries = Array.from({ length: 8 }, (_, i) => swap(register, 'k', epoch, `${epoch}-${i}`))
          const won = (await Promise.all(tries)).flatMap((result, i) => (result === undefined ? [] : [i]))
          ok(won.length <= 1)
          const held = await read(register, 'k')
          equal(held.epoch, epoch + 1)
          if (won.length === 1) equal(held.text, `${epoch}-${won[0]}`)
        }
      },
    ],
    [
      'counters that read and swap concurrently lose no count',
      async (register) => {
        const count = async (writer: string) => {
          for (let done = 0, tries = 0; done < 10; tries++) {
            const { epoch, text = '0' } = await read(register, 'k')
            const next = `${Number.parseInt(text) + 1} is the try ${tries} of ${writer}`
            if ((await swap(register, 'k', epoch, next)) !== undefined) done += 1
          }
        }
        await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(count))
        // A swap that won and was overtaken at once reports a loss and is repeated: the count may be higher.
        ok(Number.parseInt((await read(register, 'k')).text ?? '') >= 60)
      },
    ],
    [
      'it reports when a text was written, by its own clock, which does not run backwards',
      async (register) => {
        const before = await asyncRegister(register).now()
        await swap(register, 'k', 0, 'text')
        const after = await asyncRegister(register).now()
        const writtenAt = await asyncRegister(register).writtenAt('k')
        ok(writtenAt !== undefined && Math.abs(writtenAt - after.wall) < 60_000)
        ok(after.mono >= before.mono && after.clock === before.clock)
      },
    ],
    [
      'if it has a synchronous form, each form reads what the other has written',
      async (register) => {
        if (register.performSync === undefined) return
        equal(syncRegister(register).swap('k', 0, 'sync'), 1)
        deepEqual(await read(register, 'k'), { epoch: 1, text: 'sync' })
        equal(await swap(register, 'k', 1, 'async'), 2)
        deepEqual(syncRegister(register).read('k'), { epoch: 2, text: 'async' })
      },
    ],
  ]
  return cases.map(([title, run]) => ({ title, run: async () => run(await open()) }))
}
