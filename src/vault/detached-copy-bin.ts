import { existsSync } from 'node:fs'
import { setPriority } from 'node:os'
import { ifPossible } from '../base/errors/if-possible.ts'
import { stintHome } from '../base/fs/home.ts'
import { vaultDirectory } from './conversation-record.ts'
import { isVaultAgent } from './places.ts'
import { openVault, syncVault } from './sync.ts'

/** The program of `copyTranscriptDetached`. The vault begins with the user's first sync, not here. */
const [agent = '', id = '', ended = ''] = process.argv.slice(2)
if (isVaultAgent(agent) && existsSync(vaultDirectory(stintHome()))) {
  ifPossible(() => setPriority(10))
  const options = { agents: [agent], hasEnded: ended === 'ended', ...(id !== '' && { id }) }
  // The next sync has a user to tell about a failure.
  syncVault(openVault(), options).catch(() => {})
}
