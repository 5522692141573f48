import { readFileSync } from 'node:fs'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { checkEventType, checkSessionId } from '../index.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { findId, idArgument } from './which-session.ts'

export const appendCommand = defineBareCommand({
  name: 'append',
  summary: 'Adds an event to a session that no other process holds. It is on disk when the command ends.',
  options: {
    type: { type: 'string', value: 'T', help: 'a short word; those that begin with stint. are reserved' },
    data: {
      type: 'string',
      value: 'JSON',
      help: 'the data; @- reads it from stdin, @FILE from a file (null)',
    },
    create: { type: 'boolean', help: 'create the session if it does not exist' },
    tool: { type: 'string', value: 'NAME', help: 'with --create: the program it belongs to' },
    title: { type: 'string', value: 'TEXT', help: 'with --create: what it is about' },
    mask: {
      type: 'string',
      choices: ['registered', 'tokens'],
      help: 'with --create: replace registered secrets only, or also what looks like a token (tokens)',
    },
    ...storeOption,
  },
  positionals: 'ID',
  examples: [
    [`stint sessions append mine --type note --data '{"text":"deployed"}'`, 'from a script'],
    ['git diff --stat | jq -Rs . | stint sessions append mine --type diff --data @-', 'from a pipe'],
    ['stint sessions append nightly --create --type started', 'the first call creates the session'],
  ],
  async run({ warn }, { options, positionals }) {
    const { type, create, tool, title, mask } = options
    const name = idArgument(positionals)
    if (type === undefined)
      throw new StintError('ARG_ERROR', 'no event type given', {
        hint: 'Give it with --type, as --type note.',
      })
    const alone = Object.entries({ tool, title, mask }).find(([, value]) => value !== undefined)
    if (!create && alone !== undefined) throw new StintError('ARG_ERROR', `--${alone[0]} goes with --create`)
    // Check everything before the session is created.
    checkEventType(type)
    if (create) checkSessionId(name)
    const store = await openStore(options.store, warn)
    // A new session gets exactly the given id, even if other ids begin with it.
    const id = create ? name : await findId(store, name)
    const data = await readDataOption(options.data)
    return await store.visit(
      id,
      async (visit) => {
        const { seq } = await visit.append({ type, data })
        return { session_id: id, type, seq }
      },
      {
        purpose: 'append',
        secrets: registerEnvironmentSecrets().secrets,
        // Scripts pass on what programs print: mask tokens in it, unless the creator says otherwise.
        create: create ? { tool, title, workspace: findWorkspace().path, mask: mask ?? 'tokens' } : undefined,
        onWarning: warn,
      },
    )
  },
  render: ({ session_id }) => `appended to ${session_id}`,
})

/** Reads the value of `--data`: JSON, `@-` for stdin, `@FILE` for a file. */
export async function readDataOption(value: string | undefined): Promise<unknown> {
  if (value === undefined) return null
  const text = value === '@-' ? await readStdin() : value.startsWith('@') ? readText(value.slice(1)) : value
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    // The parser's message and the cause quote the data, which may be long or secret: show the position only.
    const [where = ''] = /at position \d+/.exec((error as Error).message) ?? []
    throw new StintError('ARG_ERROR', `--data is not JSON ${where}`.trimEnd(), {
      hint: `A string needs its quotes: --data '"text"'.`,
    })
  }
}

async function readStdin(): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR')
      throw new StintError('NOT_FOUND', `there is no file ${path}`, { cause: error })
    throw codedError(error, `read ${path}`)
  }
}
