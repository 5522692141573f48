import { defineBareCommand } from '../../command/spec.ts'
import { look } from '../../lease/book.ts'
import { parseClaims } from '../../lease/claim.ts'
import { type Register, runAsync } from '../../lease/register.ts'
import { isWorkspaceKey } from '../../lease/workspace.ts'
import { errnoOf, StintError } from '../../primitives/stint-error.ts'
import { textOf } from '../../primitives/text-of.ts'
import { visibleText } from '../../primitives/visible-text.ts'
import { openRegister, storeOption } from '../store.ts'
import { describeSubject } from './book.ts'
import { type ClaimDescription, describeClaim, lineLength, renderClaim } from './describe.ts'

type ListedSubject = ReturnType<typeof describeSubject> & { claims: ClaimDescription[] }

/** Where each costs a way to a server, they go together. */
const atOnce = 32

export const listCommand = defineBareCommand({
  name: 'list',
  summary: 'All workspaces and resources with claims on them.',
  options: storeOption,
  examples: [['stint lock list --json', 'for scripts']],
  async run({ warn }, { options }) {
    const register = await openRegister(options.store, warn)
    const workspaces: ListedSubject[] = []
    const unreadable: { workspace_key: string; reason: string }[] = []
    const keys = await runAsync(register, register.keys())
    const ours = register.shared === undefined ? keys.filter(isWorkspaceKey) : keys
    for (let from = 0; from < ours.length; from += atOnce) {
      const batch = ours.slice(from, from + atOnce)
      const listed = await Promise.allSettled(batch.map((key) => readSubject(register, key)))
      listed.forEach((result, at) => {
        if (result.status === 'rejected')
          unreadable.push({ workspace_key: batch[at] ?? '', reason: reasonOf(result.reason) })
        else if (result.value !== undefined) workspaces.push(result.value)
      })
    }
    return { workspaces, unreadable }
  },
  render: ({ workspaces, unreadable }) =>
    [
      ...workspaces.flatMap(({ workspace, resource, claims }) => [
        visibleText(workspace ?? resource, lineLength),
        ...claims.map(renderClaim),
      ]),
      ...unreadable.map(({ workspace_key, reason }) => `${workspace_key} cannot be read: ${reason}`),
    ].join('\n') || 'no claims',
})

/** Undefined if nobody has a claim there: then the record does not even say where that is. */
async function readSubject(register: Register, key: string): Promise<ListedSubject | undefined> {
  const { text } = await runAsync(register, register.read(key))
  if (text === undefined) return undefined
  const known = parseClaims(text, '')
  if (known === undefined) throw new StintError('UNEXPECTED', 'a record this version cannot read')
  if (known.claims.length === 0) return undefined
  const { workspace } = known
  const { claims, witness } = await runAsync(register, look({ register, key, workspace }))
  if (claims.claims.length === 0) return undefined
  return {
    ...describeSubject(key, workspace),
    claims: claims.claims.map((claim) => describeClaim(claim, witness)),
  }
}

const reasonOf = (error: unknown): string =>
  errnoOf(error instanceof StintError ? error.cause : error) ?? textOf(error)
