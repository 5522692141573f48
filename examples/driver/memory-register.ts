import type { Register } from 'stint/driver'

/** A register whose texts live in this process. */
export function memoryRegister(): Register {
  const entries = new Map<string, { epoch: number; text: string }>()
  const watchers = new Map<() => void, string>()

  return {
    async read(key) {
      const { epoch, text } = entries.get(key) ?? { epoch: 0, text: undefined }
      const now = { wall: Date.now(), mono: performance.now(), clock: `process ${process.pid}` }
      return { epoch, text, now }
    },
    async swap(key, epoch, text) {
      if ((entries.get(key)?.epoch ?? 0) !== epoch) return false
      entries.set(key, { epoch: epoch + 1, text })
      for (const [onChange, watched] of watchers) if (watched === key) onChange()
      return true
    },
    keys: async () => [...entries.keys()],
    watch(key, onChange) {
      watchers.set(onChange, key)
      return () => void watchers.delete(onChange)
    },
  }
}
