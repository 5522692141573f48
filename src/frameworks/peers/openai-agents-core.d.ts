// The part of the package's types that stint is compiled with: the package itself is too large to depend on.
// Users compile with the real types, and so does test/package-types.test.ts.
declare module '@openai/agents-core' {
  type AgentInputItem = { [name: string]: unknown }
  type SessionHistoryTransaction =
    | { type: 'append_items'; items: AgentInputItem[] }
    | { type: 'replace_suffix'; expectedSuffix: AgentInputItem[]; replacement: AgentInputItem[] }
  type SessionHistoryTransactionArgs = { operationId: string; transaction: SessionHistoryTransaction }
  type SessionHistoryMutation = {
    type: 'replace_function_call'
    callId: string
    replacement: AgentInputItem
  }
  type SessionHistoryRewriteArgs = { mutations: SessionHistoryMutation[] }
  interface Session {
    getSessionId(): Promise<string>
    getItems(limit?: number): Promise<AgentInputItem[]>
    addItems(items: AgentInputItem[]): Promise<void>
    popItem(): Promise<AgentInputItem | undefined>
    clearSession(): Promise<void>
  }
  interface SessionHistoryTransactionAwareSession extends Session {
    applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> | void
  }
  interface SessionHistoryRewriteAwareSession extends Session {
    applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> | void
  }
  class MemorySession implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession {
    constructor(options?: { sessionId?: string; initialItems?: AgentInputItem[] })
    getSessionId(): Promise<string>
    getItems(limit?: number): Promise<AgentInputItem[]>
    addItems(items: AgentInputItem[]): Promise<void>
    popItem(): Promise<AgentInputItem | undefined>
    clearSession(): Promise<void>
    applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void>
    applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void>
  }
  function applySessionHistoryMutations(
    items: AgentInputItem[],
    mutations: SessionHistoryMutation[],
  ): AgentInputItem[]
}
