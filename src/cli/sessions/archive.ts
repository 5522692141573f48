import { closeSync, createReadStream, fsyncSync, openSync, type ReadStream, unlinkSync } from 'node:fs'
import { isatty } from 'node:tty'
import { defineBareCommand } from '../../command/define-command.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { openPrivateFile, writeAll } from '../../base/fs/private-file.ts'
import { visibleJson, visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import type { Exported, SessionFiles } from '../../session/index.ts'
import { openStore, storeOption } from '../store.ts'
import { plural } from '../text/format.ts'
import { print } from '../terminal/print.ts'
import { openProgressBar, showWork } from '../terminal/progress.ts'
import { ArchiveStage } from './archive-stage.ts'
import { openNamed } from './which-session.ts'

export const exportCommand = defineBareCommand({
  name: 'export',
  summary: 'Writes a whole session as one archive, a tar file with checksums, and verifies it on the way.',
  options: {
    output: { type: 'string', short: 'o', value: 'FILE', help: 'write to this new file; - is stdout (-)' },
    ...storeOption,
  },
  positionals: 'ID',
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint sessions export mine -o mine.tar', 'to a file'],
    ['stint sessions export mine | zstd > mine.tar.zst', 'in a pipe'],
    ['stint sessions export mine | ssh there stint sessions import -', 'to another machine'],
  ],
  async run(context, { options, positionals }) {
    const { json, warn } = context
    const { store, id } = await openNamed(options.store, positionals, warn)
    using stage = await ArchiveStage.open(store)
    await showWork('fetching', context, () => stage.fetch(id))
    const { files } = stage
    const { output = '-' } = options
    if (output === '-') {
      if (isatty(1))
        throw new StintError('ARG_ERROR', 'an archive cannot be shown on a terminal', {
          hint: 'Give a file with -o FILE, or a pipe.',
        })
      await showWork('exporting', context, (update) => exportToStdout(files, id, counted(update)))
      return
    }
    const exported = await showWork('exporting', context, (update) =>
      exportToFile(files, id, output, { signal: context.signal, onBytes: counted(update) }),
    )
    const { records, bytes } = exported
    print(
      json
        ? `${visibleJson({ ...exported, file: output })}\n`
        : `${visibleText(output)}: ${id}, ${plural(records, 'record')}, ${formatBytes(bytes)}\n`,
    )
  },
})

/** Ends an export whose reader has closed the pipe. */
class PipeClosed extends Error {}

/** Adds up bytes for a progress bar. */
function counted(update: (done: { bytes: number }) => void): (more: number) => void {
  let bytes = 0
  return (more) => update({ bytes: (bytes += more) })
}

async function exportToStdout(
  files: SessionFiles,
  id: string,
  onBytes: (more: number) => void,
): Promise<void> {
  try {
    await files.export(id, (bytes) => {
      onBytes(bytes.length)
      if (!print(bytes)) throw new PipeClosed()
    })
  } catch (error) {
    if (!(error instanceof PipeClosed)) throw error
  }
}

/** Writes to a file that must not exist yet, and removes it again if the export fails or is interrupted. */
async function exportToFile(
  files: SessionFiles,
  id: string,
  path: string,
  { signal, onBytes }: { signal: AbortSignal; onBytes: (more: number) => void },
): Promise<Exported> {
  const file = create(path)
  // At an interruption the process ends without waiting for the export.
  const discard = (): void => void ifPossible(() => unlinkSync(path))
  signal.addEventListener('abort', discard)
  try {
    try {
      const exported = await files.export(id, (bytes) => {
        writeAll(file, bytes)
        onBytes(bytes.length)
      })
      fsyncSync(file)
      return exported
    } finally {
      signal.removeEventListener('abort', discard)
      closeSync(file)
    }
  } catch (error) {
    unlinkSync(path)
    throw codedError(error, `write ${path}`)
  }
}

function create(path: string): number {
  try {
    return openPrivateFile(path, 'wx')
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EEXIST') throw new StintError('NAME_TAKEN', `${path} exists already`, { cause: error })
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new StintError('NOT_FOUND', `there is no directory for ${path}`, { cause: error })
    throw codedError(error, `write ${path}`, 'Choose a place you may write to.')
  }
}

export const importCommand = defineBareCommand({
  name: 'import',
  summary: 'Imports a session from an archive made by `stint sessions export`. Everything is verified first.',
  options: {
    id: { type: 'string', value: 'ID', help: 'the id it gets (its own if that is free, else a new one)' },
    ...storeOption,
  },
  positionals: 'FILE',
  examples: [
    ['stint sessions import mine.tar', 'from a file'],
    ['zstd -dc mine.tar.zst | stint sessions import - --id copy', 'from a pipe, under another id'],
  ],
  async run({ warn, signal, quiet }, { options, positionals }) {
    const [file, extra] = positionals
    if (file === undefined || extra !== undefined)
      throw new StintError('ARG_ERROR', 'give exactly one archive', {
        hint: 'Give one file, or - for stdin.',
      })
    using stage = await ArchiveStage.open(await openStore(options.store, warn))
    const input = file === '-' ? process.stdin : openArchive(file)
    const bar = await openProgressBar('importing', { signal, quiet })
    const onBytes = counted((done) => bar?.update(done))
    // An interruption ends the input, so that the import removes what it has unpacked.
    signal.addEventListener('abort', () => input.destroy(signal.reason as Error), { once: true })
    const chunks = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of input as AsyncIterable<Buffer>) {
        onBytes(chunk.length)
        yield chunk
      }
    }
    try {
      const imported = await stage.files.import(chunks(), options.id, signal)
      return await stage.deliver(imported, options.id)
    } catch (error) {
      throw errorCode(error) === 'EISDIR' ? noFile(file, error) : codedError(error, 'import the session')
    } finally {
      bar?.clear()
      input.destroy()
    }
  },
  render: ({ session_id, from, records }) =>
    `${session_id}: ${plural(records, 'record')}${session_id === from ? '' : `, exported as ${from}`}`,
})

/** Opens an archive at once: a stream that fails to open reports it before the import listens. */
function openArchive(path: string): ReadStream {
  try {
    return createReadStream(path, { fd: openSync(path, 'r') })
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')
    throw isMissing ? noFile(path, error) : codedError(error, `read ${path}`)
  }
}

const noFile = (path: string, cause: unknown): StintError =>
  new StintError('NOT_FOUND', `there is no file ${path}`, { cause })
