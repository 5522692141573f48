import { NotReplicated } from './postgres-errors.ts'

/**
 * The part of a `pg.Pool` that stint uses; nothing here imports `pg`. Each statement stands alone or in one
 * transaction, is not prepared, and relies on no connection state, so PgBouncer in transaction mode may stand
 * in between.
 */
export interface PostgresPool {
  query(sql: string, values?: unknown[]): Promise<{ rows: SqlRow[] }>
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void
}

export interface PostgresClient {
  query(sql: string, values?: unknown[]): Promise<{ rows: SqlRow[] }>
  /** With a reason, the pool closes the connection instead of reusing it. */
  release(reason?: Error | boolean): void
  /** A message is an error of the connection, or a warning of the server: `routine` is what has sent it. */
  on(event: 'error' | 'notice', listener: (message: { routine?: string }) => void): unknown
  removeListener(event: 'error' | 'notice', listener: (message: { routine?: string }) => void): unknown
}

export type SqlRow = Record<string, unknown>

const ignoreError = (): void => {}

/**
 * Takes a connection of the pool. A connection that breaks emits 'error', which ends a process that has no
 * listener. So the listener is added in the callback: an answer and the error that ends the connection may
 * arrive in one packet, and `pg` emits both before a promise continues (pool.test.ts).
 */
const takeConnection = (pool: PostgresPool): Promise<PostgresClient> =>
  new Promise((resolve, reject) =>
    pool.connect((error, client) => {
      if (client === undefined) return reject(error)
      client.on('error', ignoreError)
      resolve(client)
    }),
  )

/**
 * Runs `act` on one connection. Rejects with `NotReplicated` if the server reports a commit as done although
 * it has stopped waiting for the synchronous standby, which it does when the wait is cancelled.
 */
export async function onConnection<Result>(
  pool: PostgresPool,
  act: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const client = await takeConnection(pool)
  let broken: Error | undefined
  let isReplicated = true
  const onNotice = ({ routine }: { routine?: string }): void => {
    if (routine === 'SyncRepWaitForLSN') isReplicated = false
  }
  client.on('notice', onNotice)
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
    client.removeListener('notice', onNotice)
    // The pool listens again once it has the connection back. One that is closed as broken has no listener
    // but this, and the server may still send why it ended the connection.
    if (broken === undefined) client.removeListener('error', ignoreError)
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
