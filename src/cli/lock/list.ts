import { defineBareCommand } from '../../command/spec.ts'
import { look } from '../../lease/book.ts'
import { parseClaims } from '../../lease/claim.ts'
import { homeRegister } from '../../lease/lock-home.ts'
import { runAsync } from '../../lease/register.ts'
import { describeClaim, renderClaim } from './describe.ts'

export const listCommand = defineBareCommand({
  name: 'list',
  summary: 'All workspaces with claims on them.',
  examples: [['stint lock list --json', 'for scripts']],
  async run() {
    const register = homeRegister()
    const workspaces = []
    for (const key of await runAsync(register, register.keys())) {
      const { text } = await runAsync(register, register.read(key))
      const workspace = parseClaims(text ?? '', '')?.workspace
      if (!workspace) continue
      const { claims, witness } = await runAsync(register, look({ register, key, workspace }))
      if (claims.claims.length === 0) continue
      workspaces.push({
        workspace,
        workspace_key: key,
        claims: claims.claims.map((claim) => describeClaim(claim, witness)),
      })
    }
    return { workspaces }
  },
  render: ({ workspaces }) =>
    workspaces.flatMap(({ workspace, claims }) => [workspace, ...claims.map(renderClaim)]).join('\n') ||
    'no claims',
})
