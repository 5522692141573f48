import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readRecord } from '../../src/vault/conversation-record.ts'

/** What the vault has of a file of a conversation: its generations, oldest first, as acknowledged. */
export function generationsOf(directory: string, name: string): string[] {
  const record = readRecord(directory)
  const copies = record.files.get(name) ?? []
  const versions = new Map(copies.map((copy) => [copy.generation, copy]))
  return [...versions.values()].map((version) => {
    const { generation, sha256, bytes: length } = version
    const bytes = readFileSync(record.pathOf(version)).subarray(0, length)
    if (bytes.length !== length) throw new Error(`${name}: ${bytes.length} of ${length} bytes are there`)
    const hash = createHash('sha256').update(bytes).digest('hex')
    if (hash !== sha256)
      throw new Error(`${name}, generation ${generation}: the bytes are not those acknowledged`)
    return bytes.toString('latin1')
  })
}
