import { NotReplicated } from './postgres-errors.ts'

/**
 * The part of a `pg.Pool` that stint uses; nothing here imports `pg`. Each statement stands alone or in one
 * transaction, is not prepared, and relies on no connection state, so PgBouncer in transaction mode may stand
 * in between.
 */
export interface PostgresPool {
  query(sql: string, values?: unknown[]): Promise<{ rows: SqlRow[] }>
  connect(): Promise<PostgresClient>
}

export interface PostgresClient {
  query(sql: string, values?: unknown[]): Promise<{ rows: SqlRow[] }>
  /** With a reason, the pool closes the connection instead of reusing it. */
  release(reason?: Error | boolean): void
  on?(event: 'error' | 'notice', listener: (message: PostgresMessage) => void): unknown
  removeListener?(event: 'error' | 'notice', listener: (message: PostgresMessage) => void): unknown
}

/** An error of a connection, or a warning of the server. */
export interface PostgresMessage {
  /** The function of the server that has sent it; no setting translates it. */
  routine?: string
}

export type SqlRow = Record<string, unknown>

/**
 * Runs `act` on one connection. Rejects with `NotReplicated` if the server reports a commit as done although
 * it has stopped waiting for the synchronous standby, which it does when the wait is cancelled.
 */
export async function onConnection<Result>(
  pool: PostgresPool,
  act: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  let isReplicated = true
  // A broken connection rejects its query, and emits 'error', which would end a process without a listener.
  const ignore = (): void => {}
  const onNotice = ({ routine }: PostgresMessage): void => {
    if (routine === 'SyncRepWaitForLSN') isReplicated = false
  }
  client.on?.('error', ignore)
  client.on?.('notice', onNotice)
  try {
    const result = await act(client)
    if (!isReplicated) throw new NotReplicated('the synchronous standby has not confirmed the change')
    return result
  } catch (error) {
    // Ends the transaction, if there is one, and shows whether the connection still works.
    await client.query('ROLLBACK').catch((reason: Error) => {
      broken = reason
    })
    throw error
  } finally {
    client.removeListener?.('error', ignore)
    client.removeListener?.('notice', onNotice)
    client.release(broken)
  }
}

/** Runs `act` in one transaction: all of its statements count, or none. */
export const inTransaction = <Result>(
  pool: PostgresPool,
  act: (client: PostgresClient) => Promise<Result>,
): Promise<Result> =>
  onConnection(pool, async (client) => {
    await client.query('BEGIN')
    const result = await act(client)
    await client.query('COMMIT')
    return result
  })
