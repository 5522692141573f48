// The part of the package's types that stint is compiled with: the package itself is too large to depend on.
// Users compile with the real types, and so does test/package-types.test.ts.
declare module '@anthropic-ai/claude-agent-sdk' {
  type SessionKey = { projectKey: string; sessionId: string; subpath?: string }
  type SessionStoreEntry = { type: string; uuid?: string; timestamp?: string; [name: string]: unknown }
  type SessionSummaryEntry = { sessionId: string; mtime: number; data: Record<string, unknown> }
  type SessionStore = {
    append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>
    load(key: SessionKey): Promise<SessionStoreEntry[] | null>
    listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>
    listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>
    delete?(key: SessionKey): Promise<void>
    listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>
  }
  function foldSessionSummary(
    prev: SessionSummaryEntry | undefined,
    key: SessionKey,
    entries: SessionStoreEntry[],
    options?: { mtime?: number },
  ): SessionSummaryEntry
}
