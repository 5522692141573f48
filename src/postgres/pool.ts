/**
 * What we need of a `pg.Pool`: nothing here imports `pg`. Every statement stands alone or in one transaction, without a name and without anything
 * that a connection would have to remember, so a pooler that hands out a connection per transaction may stand in between.
 */
export interface PostgresPool {
  query(sql: string, values?: unknown[]): Promise<{ rows: Row[] }>
  connect(): Promise<PostgresClient>
}

export interface PostgresClient {
  query(sql: string, values?: unknown[]): Promise<{ rows: Row[] }>
  /** With a reason the connection is closed instead of used again. */
  release(reason?: Error | boolean): void
  on?(event: 'error', listener: (error: Error) => void): unknown
  removeListener?(event: 'error', listener: (error: Error) => void): unknown
}

export type Row = Record<string, unknown>

/** All statements, or none of them. */
export async function inTransaction<Result>(
  pool: PostgresPool,
  act: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  // A connection that breaks is told to the query under way; without a listener it would end the process, too.
  const heard = (): void => {}
  client.on?.('error', heard)
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
    client.removeListener?.('error', heard)
    client.release(broken)
  }
}
