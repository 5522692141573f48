import { setPriority } from 'node:os'
import { ifPossible } from '../base/errors/if-possible.ts'
import { isVaultAgent } from './places.ts'
import { openVault, syncVault } from './sync.ts'

/** The program of `copyTranscriptDetached`, which describes its arguments. */
const [agent = '', id, moment] = process.argv.slice(2)
if (isVaultAgent(agent)) {
  ifPossible(() => setPriority(10))
  const only = moment === 'start' ? {} : { id, hasEnded: moment === 'end' }
  // The next sync has a user to tell about a failure.
  syncVault(openVault(), { agents: [agent], ...only }).catch(() => {})
}
