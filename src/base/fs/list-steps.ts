import { type Dirent, opendirSync, readdirSync } from 'node:fs'

/** A larger directory may have thousands of entries, which would block the event loop if read at once. */
const largeDirectory = 256 << 10
const entriesPerStep = 1024

/**
 * Lists a directory, with names as Latin-1; `size` is that of the directory itself, in bytes. Yields while
 * it reads a large one.
 */
export function* listSteps(path: string | Buffer, size: number): Generator<void, Dirent[]> {
  if (size < largeDirectory) return readdirSync(path, { withFileTypes: true, encoding: 'latin1' })
  const directory = opendirSync(path as string, { encoding: 'latin1', bufferSize: entriesPerStep })
  try {
    const entries: Dirent[] = []
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      entries.push(entry)
      if (entries.length % entriesPerStep === 0) yield
    }
    return entries
  } finally {
    directory.closeSync()
  }
}
