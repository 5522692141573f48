import type { Now, Register, RegisterEntry, Steps } from 'stint/driver'

/** One access to the map. A database driver would yield queries instead. */
type Step = () => unknown

/** A register whose texts live in this process. */
export function memoryRegister(): Register<Step> {
  const entries = new Map<string, RegisterEntry & { writtenAt: number }>()

  const read = (key: string): RegisterEntry => {
    const { epoch, text } = entries.get(key) ?? { epoch: 0, text: undefined }
    return { epoch, text }
  }

  return {
    read: (key) => once(() => read(key)),
    swap: (key, before, text) =>
      once(() => {
        if (read(key).text !== before.text) return undefined
        const epoch = before.epoch + 1
        entries.set(key, { epoch, text, writtenAt: Date.now() })
        return epoch
      }),
    writtenAt: (key) => once(() => entries.get(key)?.writtenAt),
    keys: () => once(() => [...entries.keys()]),
    now: () =>
      once((): Now => ({ wall: Date.now(), mono: performance.now(), clock: `process ${process.pid}` })),
    perform: async (step) => step(),
    performSync: (step) => step(),
  }
}

function* once<Result>(step: () => Result): Steps<Step, Result> {
  return (yield step) as Result
}
