import type { Facts } from '../../session/index.ts'
import { untilOnDisk } from '../database.ts'

/**
 * One more revision, and what the revisions say now, for lists. Sent again it finds its own revision: nobody else could have written it, and it is
 * unlike any other.
 */
const reviseSql = `WITH held AS (
    UPDATE stint.session SET rev = $3, tool = $5, title = $6, workspace = $7, beat = clock_timestamp()
    WHERE key = $1 AND token = $2 AND rev = $3 - 1 AND removed_at IS NULL
    RETURNING key
  ), added AS (
    INSERT INTO stint.revision (session, rev, body) SELECT held.key, $3, $4 FROM held
  )
  SELECT EXISTS (SELECT FROM held) OR EXISTS (SELECT FROM stint.revision WHERE session = $1 AND rev = $3 AND body = $4) AS revised,
    ${untilOnDisk}`

export const reviseStatement = (
  key: string,
  token: string,
  rev: number,
  body: string,
  facts: Facts,
): [string, ...unknown[]] => [reviseSql, key, token, rev, body, ...factColumns(facts)]

/** For the columns of a row; what a text of the server cannot have is left out of them. */
export const factColumns = ({
  tool,
  title,
  workspace,
}: Pick<Facts, 'tool' | 'title' | 'workspace'>): (string | null)[] =>
  [tool, title, workspace].map((fact) => fact?.replaceAll('\0', '') ?? null)
