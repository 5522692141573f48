import { defineBareCommand } from '../../command/spec.ts'
import { look } from '../../lease/book.ts'
import { parseClaims } from '../../lease/claim.ts'
import { homeRegister } from '../../lease/lock-home.ts'
import { type Register, runAsync } from '../../lease/register.ts'
import { isWorkspaceKey } from '../../lease/workspace.ts'
import { errnoOf, StintError } from '../../primitives/stint-error.ts'
import { textOf } from '../../primitives/text-of.ts'
import { visibleText } from '../../primitives/visible-text.ts'
import { type ClaimDescription, describeClaim, lineLength, renderClaim } from './describe.ts'

interface ListedWorkspace {
  workspace: string
  workspace_key: string
  claims: ClaimDescription[]
}

export const listCommand = defineBareCommand({
  name: 'list',
  summary: 'All workspaces with claims on them.',
  examples: [['stint lock list --json', 'for scripts']],
  async run() {
    const register = homeRegister()
    const workspaces: ListedWorkspace[] = []
    const unreadable: { workspace_key: string; reason: string }[] = []
    const keys = await runAsync(register, register.keys())
    for (const key of keys.filter(isWorkspaceKey)) {
      try {
        const listed = await readWorkspace(register, key)
        if (listed !== undefined) workspaces.push(listed)
      } catch (error) {
        unreadable.push({ workspace_key: key, reason: reasonOf(error) })
      }
    }
    return { workspaces, unreadable }
  },
  render: ({ workspaces, unreadable }) =>
    [
      ...workspaces.flatMap(({ workspace, claims }) => [
        visibleText(workspace, lineLength),
        ...claims.map(renderClaim),
      ]),
      ...unreadable.map(({ workspace_key, reason }) => `${workspace_key} cannot be read: ${reason}`),
    ].join('\n') || 'no claims',
})

/** Undefined if nobody has a claim there: then the record does not even say where that is. */
async function readWorkspace(register: Register, key: string): Promise<ListedWorkspace | undefined> {
  const { text } = await runAsync(register, register.read(key))
  if (text === undefined) return undefined
  const known = parseClaims(text, '')
  if (known === undefined) throw new StintError('UNEXPECTED', 'a record this version cannot read')
  if (known.claims.length === 0) return undefined
  const { workspace } = known
  const { claims, witness } = await runAsync(register, look({ register, key, workspace }))
  if (claims.claims.length === 0) return undefined
  return {
    workspace,
    workspace_key: key,
    claims: claims.claims.map((claim) => describeClaim(claim, witness)),
  }
}

const reasonOf = (error: unknown): string =>
  errnoOf(error instanceof StintError ? error.cause : error) ?? textOf(error)
