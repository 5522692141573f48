import { closeSync, constants, fstatSync, openSync, readSync, unlinkSync } from 'node:fs'
import { explained } from '../../base/errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { unless } from '../../base/fs/exists.ts'
import { openPrivateFile, writeAll } from '../../base/fs/private-file.ts'
import type { EntryTotals } from '../../sweep/index.ts'

const oldHeader = 'Timestamp,Files,Directories,Total Size (bytes),Scratches,Live,Orphans,Growth (bytes)'
const newHeader = `${oldHeader},Disk (bytes)`

/**
 * A CSV file with one line per sample, each in one write. An existing file must have the same header, or that
 * of an earlier version, whose columns are kept.
 */
export class CsvFile {
  readonly #fd: number
  readonly #columns: number
  readonly #path: string

  constructor(path: string) {
    this.#path = path
    const { fd, header } = explained(
      (error) => csvError(error, path),
      () => create(path) ?? reopen(path),
    )
    this.#fd = fd
    this.#columns = header.split(',').length
  }

  add(
    at: number,
    { files, directories, bytes, disk_bytes, scratches, live, orphans }: EntryTotals,
    growth: number,
  ): void {
    const counts = [files, directories, bytes, scratches, live, orphans, growth, disk_bytes]
    const cells = [new Date(at).toISOString(), ...counts].slice(0, this.#columns)
    explained(
      (error) => csvError(error, this.#path),
      () => writeAll(this.#fd, `${cells.join(',')}\n`),
    )
  }
}

interface OpenCsv {
  fd: number
  header: string
}

/** Creates the file with its header; undefined if the path exists. */
function create(path: string): OpenCsv | undefined {
  const fd = unless(['EEXIST'], () => openPrivateFile(path, 'wx'))
  if (fd === undefined) return undefined
  try {
    writeAll(fd, `${newHeader}\n`)
    return { fd, header: newHeader }
  } catch (error) {
    // Without its header, the next run would refuse the file as one of another program.
    closeSync(fd)
    unlinkSync(path)
    throw error
  }
}

function reopen(path: string): OpenCsv {
  const header = readHeader(path)
  // The user has named this path, so following a link is intended.
  return { header, fd: openSync(path, 'a') }
}

function readHeader(path: string): string {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const bytes = Buffer.alloc(newHeader.length + 1)
    const text = fstatSync(fd).isFile() ? bytes.toString('utf8', 0, readSync(fd, bytes)) : ''
    const header = [newHeader, oldHeader].find((known) => text.startsWith(`${known}\n`))
    if (header !== undefined) return header
  } finally {
    closeSync(fd)
  }
  throw new StintError('NAME_TAKEN', `${path} exists already, and does not begin with the header of stint`, {
    hint: 'Name another file for --csv, or move that one away.',
    detail: `path=${path}`,
  })
}

function csvError(error: unknown, path: string): unknown {
  if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? ''))
    return codedError(error, `write ${path}`, 'Name another file for --csv.')
  return new StintError('NOT_FOUND', `there is no directory for ${path}`, { cause: error })
}
