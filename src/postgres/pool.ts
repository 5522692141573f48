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
  on?(event: 'error', listener: (error: Error) => void): unknown
  removeListener?(event: 'error', listener: (error: Error) => void): unknown
}

export type SqlRow = Record<string, unknown>

/** Runs `act` in one transaction: all of its statements count, or none. */
export async function inTransaction<Result>(
  pool: PostgresPool,
  act: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  // A broken connection rejects its query, and emits 'error', which would end a process without a listener.
  const ignore = (): void => {}
  client.on?.('error', ignore)
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await act(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((reason: Error) => {
      broken = reason
    })
    throw error
  } finally {
    client.removeListener?.('error', ignore)
    client.release(broken)
  }
}
