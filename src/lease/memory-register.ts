import { systemClock } from '../base/process/clock.ts'
import type { RegisterEntry, Now, Register, Steps } from './register.ts'

type Step = () => unknown

/** A register that lives as long as this process: for tests, and for leases between the parts of one program. */
export function memoryRegister(now: () => Now = processNow): Register<Step> {
  const held = new Map<string, RegisterEntry & { writtenAt: number }>()

  function* once<Result>(step: () => Result): Steps<Step, Result> {
    return (yield step) as Result
  }
  const read = (key: string): RegisterEntry => {
    const { epoch, text } = held.get(key) ?? { epoch: 0, text: undefined }
    return { epoch, text }
  }

  return {
    read: (key) => once(() => read(key)),
    swap: (key, expected, text) =>
      once(() => {
        if (read(key).epoch !== expected) return undefined
        held.set(key, { epoch: expected + 1, text, writtenAt: now().wall })
        return expected + 1
      }),
    writtenAt: (key) => once(() => held.get(key)?.writtenAt),
    keys: () => once(() => [...held.keys()]),
    now: () => once(now),
    perform: async (step) => step(),
    performSync: (step) => step(),
  }
}

const processNow = (): Now => ({
  wall: systemClock.now(),
  mono: systemClock.mono(),
  clock: `process ${process.pid}`,
})
