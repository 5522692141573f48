import { closeSync, fsyncSync, unlinkSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { openPrivateFile, writeAll } from '../../base/fs/private-file.ts'
import { formatBytes } from '../../base/text/size.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { type Exported, exportSession } from '../../session/files/archive/export.ts'
import { plural } from '../text/format.ts'
import { openFiles, sessionsDirectory } from './open-sessions.ts'
import { findId, idArgument } from './which-session.ts'
import { print } from '../terminal/print.ts'

const options = {
  output: { type: 'string', short: 'o', value: 'FILE', help: 'write to this new file (stdout)' },
} as const satisfies OptionTable

export const exportCommand = defineBareCommand({
  name: 'export',
  summary: 'Writes a whole session as one archive, a tar file with checksums, and verifies it on the way.',
  options,
  positionals: 'ID',
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint sessions export mine -o mine.tar', 'to a file'],
    ['stint sessions export mine | zstd > mine.tar.zst', 'in a pipe'],
    ['stint sessions export mine | ssh there stint sessions import -', 'to another machine'],
  ],
  async run({ json }, { options, positionals }) {
    const id = await findId(openFiles('an export'), idArgument(positionals))
    const { output } = options
    if (output === undefined) {
      if (isatty(1))
        throw new StintError('ARG_ERROR', 'an archive cannot be shown on a terminal', {
          hint: 'Give a file with -o FILE, or a pipe.',
        })
      toStdout(id)
      return
    }
    const exported = toFile(id, output)
    const { records, bytes } = exported
    print(
      json
        ? `${JSON.stringify({ ...exported, file: output })}\n`
        : `${output}: ${id}, ${plural(records, 'record')}, ${formatBytes(bytes)}\n`,
    )
  },
})

const exportTo = (id: string, write: (bytes: Uint8Array) => void): Exported =>
  exportSession({ disk: nodeDisk, sessions: sessionsDirectory(), id, now: Date.now(), write })

/** Whoever read it may have seen enough. */
class Unread extends Error {}

function toStdout(id: string): void {
  try {
    exportTo(id, (bytes) => {
      if (!print(bytes)) throw new Unread()
    })
  } catch (error) {
    if (!(error instanceof Unread)) throw error
  }
}

/** A file that must not be there yet; what could not be finished does not stay. */
function toFile(id: string, path: string): Exported {
  const file = create(path)
  try {
    const exported = exportTo(id, (bytes) => writeAll(file, bytes))
    fsyncSync(file)
    return exported
  } catch (error) {
    unlinkSync(path)
    throw codedError(error, `write ${path}`)
  } finally {
    closeSync(file)
  }
}

function create(path: string): number {
  try {
    return openPrivateFile(path, 'wx')
  } catch (error) {
    const errno = errorCode(error)
    if (errno === 'EEXIST') throw new StintError('NAME_TAKEN', `${path} exists already`, { cause: error })
    if (errno === 'ENOENT' || errno === 'ENOTDIR')
      throw new StintError('NOT_FOUND', `there is no directory for ${path}`, { cause: error })
    throw codedError(error, `write ${path}`, 'Choose a place you may write to.')
  }
}
