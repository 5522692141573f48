import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/spec.ts'
import { defaultTtlMs, maxTtlMs, wholeWorkspace } from '../../lease/claim.ts'
import { acquireWithin } from '../../lease/wait.ts'
import { claimPaths } from '../../lease/workspace.ts'
import { newSessionId } from '../../primitives/id.ts'
import { type Identity, identify } from '../../primitives/liveness.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { openBook, readSession, sessionOption, workspaceOption } from './book.ts'

const options = {
  ...workspaceOption,
  ...sessionOption,
  path: { type: 'strings', value: 'P', help: 'claim only this file or directory; may be repeated' },
  shared: { type: 'boolean', help: 'share it with others who share it' },
  ttl: { type: 'duration', value: 'D', help: 'how long it lasts without a refresh (5m)' },
  wait: {
    type: 'duration',
    value: 'D',
    help: 'how long to wait while another session holds it (not at all)',
  },
  purpose: { type: 'string', value: 'TEXT', help: 'what for: shown to whoever is refused' },
  pid: { type: 'string', value: 'N', help: 'the process it lives by: it ends when that one does' },
} as const satisfies OptionTable

export const acquireCommand = defineBareCommand({
  name: 'acquire',
  summary:
    'Claims a workspace, or paths in it, for a session. Refused (exit 4) while another session holds it.',
  options,
  examples: [
    ['stint lock acquire --session mine --pid $$ --wait 1m', 'for this shell; ends when it does'],
    [
      'stint lock acquire --session mine --path src/api --purpose "new routes"',
      'only a part of the workspace',
    ],
  ],
  async run({ signal }, { options }) {
    const sessionId = readSession(options.session) ?? newSessionId()
    const book = openBook(options.workspace)
    const ttlMs = options.ttl ?? defaultTtlMs
    if (ttlMs <= 0 || ttlMs > maxTtlMs)
      throw new StintError('ARG_ERROR', '--ttl must be more than nothing and at most 30d')
    const request = {
      sessionId,
      holder: readPid(options.pid),
      paths: options.path.length === 0 ? wholeWorkspace : claimPaths(book.workspace, options.path),
      mode: options.shared ? ('shared' as const) : ('exclusive' as const),
      ttlMs,
      purpose: options.purpose,
    }
    const { answer, epoch } = await acquireWithin(book, request, { waitMs: options.wait ?? 0, signal })
    const { fence, refreshed_at, ttl_ms } = answer.claim
    return {
      acquired: true,
      session_id: sessionId,
      workspace: book.workspace,
      workspace_key: book.key,
      epoch,
      fence,
      expires_at: refreshed_at + ttl_ms,
    }
  },
  render: ({ session_id, workspace, fence, expires_at }) =>
    `${workspace} is held by ${session_id} until ${new Date(expires_at).toISOString()} (fence ${fence})`,
})

/** Without one the claim has no process: the parent of a command substitution is dead at once, so it is no default. */
function readPid(text: string | undefined): Identity | null {
  if (text === undefined) return null
  const pid = Number(text)
  const holder = Number.isSafeInteger(pid) && pid > 0 ? identify(pid) : undefined
  if (holder !== undefined) return holder
  throw new StintError('ARG_ERROR', `there is no process ${JSON.stringify(text)} for --pid`)
}
