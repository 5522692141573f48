import { createReadStream } from 'node:fs'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { stintHome } from '../../base/fs/home.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { importSession } from '../../session/files/archive/import.ts'
import { plural } from '../text/format.ts'
import { openFiles } from './open-sessions.ts'

const options = {
  id: { type: 'string', value: 'ID', help: 'the id it gets (its own if that is free, else a new one)' },
} as const satisfies OptionTable

export const importCommand = defineBareCommand({
  name: 'import',
  summary: 'Imports a session from an archive made by `stint sessions export`. Everything is verified first.',
  options,
  positionals: 'FILE',
  examples: [
    ['stint sessions import mine.tar', 'from a file'],
    ['zstd -dc mine.tar.zst | stint sessions import - --id copy', 'from a pipe, under another id'],
  ],
  async run(_, { options, positionals }) {
    openFiles('an import')
    const [file, extra] = positionals
    if (file === undefined || extra !== undefined)
      throw new StintError('ARG_ERROR', 'give exactly one archive', {
        hint: 'Give one file, or - for stdin.',
      })
    const input = file === '-' ? process.stdin : createReadStream(file)
    const chunks = input as AsyncIterable<Buffer>
    try {
      return await importSession({
        disk: nodeDisk,
        home: stintHome(),
        now: Date.now(),
        id: options.id,
        chunks,
      })
    } catch (error) {
      const errno = errorCode(error)
      if (errno === 'ENOENT' || errno === 'EISDIR' || errno === 'ENOTDIR')
        throw new StintError('NOT_FOUND', `there is no file ${file}`, { cause: error })
      throw codedError(error, 'import the session')
    } finally {
      input.destroy()
    }
  },
  render: ({ session_id, from, records }) =>
    `${session_id}: ${plural(records, 'record')}${session_id === from ? '' : `, exported as ${from}`}`,
})
