// More of the package's types, for the tests.
declare module '@anthropic-ai/claude-agent-sdk' {
  type WithStore = { sessionStore: SessionStore; dir?: string }
  class InMemorySessionStore implements SessionStore {
    append: SessionStore['append']
    load: SessionStore['load']
  }
  function listSessions(options: WithStore): Promise<object[]>
  function getSessionMessages(sessionId: string, options: WithStore): Promise<object[]>
  function getSessionInfo(sessionId: string, options: WithStore): Promise<object | undefined>
  function renameSession(sessionId: string, title: string, options: WithStore): Promise<void>
  function tagSession(sessionId: string, tag: string, options: WithStore): Promise<void>
  function forkSession(sessionId: string, options: WithStore): Promise<{ sessionId: string }>
  function deleteSession(sessionId: string, options: WithStore): Promise<void>
}
