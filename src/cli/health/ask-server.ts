import { explainPostgres } from '../../postgres/explain.ts'
import { Late, within } from '../../postgres/timeout.ts'
import { StintError } from '../../base/errors/stint-error.ts'

const patienceMs = 5000

/** Asks a PostgreSQL server, and does not wait long: whoever only looks around has other things to show. */
export async function askServer<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await within(patienceMs, ask)
  } catch (error) {
    if (!(error instanceof Late)) throw explainPostgres(error)
    throw new StintError('POSTGRES_UNAVAILABLE', `cannot reach PostgreSQL: ${error.message}`)
  }
}
