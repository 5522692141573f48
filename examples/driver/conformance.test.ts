import { test } from 'node:test'
import { registerConformance, storeConformance } from 'stint/testing'
import { memoryRegister } from './memory-register.js'
import { type Memory, memoryMedium } from './memory-store.js'

for (const { title, run } of registerConformance(memoryRegister)) test(`register: ${title}`, run)

for (const { title, run } of storeConformance(() => {
  const memory: Memory = new Map()
  return () => memoryMedium(memory)
}))
  test(`store: ${title}`, run)
