import { askWithin } from '../../postgres/database.ts'

const patienceMs = 5000

/** Asks a PostgreSQL server, but does not wait long: `status` and `doctor` have more to show. */
export const askServer = <Answer>(ask: () => Promise<Answer>): Promise<Answer> => askWithin(patienceMs, ask)
