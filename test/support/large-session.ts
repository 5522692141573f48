import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { encodeBody, journalCodec } from '../../src/session/log/codec.ts'
import { laterSegment } from '../../src/session/files/log-files.ts'
import { type Disk, nodeDisk } from '../../src/base/fs/disk.ts'
import { createStore } from '../../src/session/create-store.ts'
import { FilesMedium, filesystemStore } from '../../src/session/files/medium.ts'

const segmentBytes = 64 << 20
const groupSize = 50

/**
 * Makes a closed session with a journal of this size. Appending with a sync for each record would take hours.
 */
export async function makeLargeSession(
  home: string,
  bytes: number,
  textLength = 4000,
): Promise<{ id: string; records: number }> {
  const session = await filesystemStore({ home }).create({ tool: 'large' })
  await session.append({ type: 'note' })
  await session.close()
  const root = join(home, 'sessions', session.id)
  const body = encodeBody({ type: 'note', json: JSON.stringify({ text: 'x'.repeat(textLength) }) })
  let file = openSync(join(root, 'journal.log'), 'a')
  let [seq, size, total] = [1, fstatSync(file).size, 0]
  while (total < bytes) {
    const group = seq + 1
    let lines = ''
    for (let i = 0; i < groupSize; i++)
      lines += `${journalCodec.encode({ seq: ++seq, at: Date.now(), group, epoch: 1 }, body, '').line}\n`
    size += writeSync(file, lines)
    total += lines.length
    if (size < segmentBytes) continue
    closeSync(file)
    file = openSync(join(root, laterSegment('journal', seq + 1, 1)), 'wx', 0o600)
    size = 0
  }
  closeSync(file)
  return { id: session.id, records: seq }
}

/** A store that counts the bytes it reads. */
export function countingStore(home: string): {
  store: ReturnType<typeof createStore>
  bytesRead: () => number
} {
  let bytes = 0
  const disk: Disk = {
    ...nodeDisk,
    read(file, into, position) {
      const got = nodeDisk.read(file, into, position)
      bytes += got
      return got
    },
  }
  return { store: createStore(new FilesMedium({ home }, disk)), bytesRead: () => bytes }
}
