/** The door of the vault: the agents' conversations, kept as files. */
export { readRecord, vaultDirectory } from './conversation-record.ts'
export { copyConversation } from './copy-conversation.ts'
export { copyTranscriptDetached, type CopyRequest } from './detached-copy.ts'
export { changeExclusions, removeConversation } from './exclusions.ts'
export {
  type Conversation,
  listConversations,
  readConversationSummary,
  surveyVault,
} from './list-conversations.ts'
export { isVaultAgent, resumeCommand, titleOf, type VaultAgent } from './places.ts'
export { rawBytes, readEntries } from './read-conversation.ts'
export { restoreConversation } from './restore-conversation.ts'
export { type FoundLine, type FoundSecret, scanVault, searchTranscripts } from './search-vault.ts'
export { freePercent, openVault, type SyncReport, syncVault } from './sync.ts'
export type { Entry } from './transcript.ts'
