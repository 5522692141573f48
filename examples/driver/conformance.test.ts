import { test } from 'node:test'
import { registerConformance, storeConformance, type StorePlace } from 'stint/testing'
import { memoryRegister } from './memory-register.js'
import { type Memory, memoryStore } from './memory-store.js'

for (const { title, run } of registerConformance(memoryRegister)) test(`register: ${title}`, run)

for (const { title, run } of storeConformance(makePlace)) test(`store: ${title}`, run)

/** An empty set of sessions for one case. */
function makePlace(): StorePlace {
  const memory: Memory = new Map()
  const addToManifest = (id: string, key: string, value: unknown): void => {
    const session = memory.get(id)
    if (session !== undefined) session.manifest = { ...session.manifest, [key]: value }
  }
  return {
    open: () => memoryStore(memory),
    disown: (id) => addToManifest(id, 'store', 'another'),
    addToManifest,
    snapshots: false,
  }
}
