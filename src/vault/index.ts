/** The door of the vault: the agents' conversations, kept as files. */
export { vaultDirectory } from './conversation-record.ts'
export { copyConversation } from './copy-conversation.ts'
export { copyTranscriptDetached } from './detached-copy.ts'
export { changeExclusions, removeConversation } from './exclusions.ts'
export {
  type Conversation,
  describeConversation,
  listConversations,
  readConversationSummary,
  surveyVault,
} from './list-conversations.ts'
export { isVaultAgent, placeVariables, resumeCommand, vaultAgents } from './places.ts'
export { linesOf, rawBytes, readEntries } from './read-conversation.ts'
export { restoreConversation } from './restore-conversation.ts'
export { type FoundLine, searchTranscripts } from './search-vault.ts'
export { freePercent, openVault, syncVault } from './sync.ts'
export type { Entry } from './transcript.ts'
