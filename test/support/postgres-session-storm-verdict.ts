import type { PostgresSessions } from './postgres-sessions.ts'

/** What the writers have logged. */
export interface WriterLogs {
  /** The values that each session was asked to append, with or without success. */
  tried: Map<string, Set<string>>
  /** The `seq` of each acknowledged value; 0 if the writer does not know it. */
  acknowledged: Map<string, Map<string, number>>
  fenced: number
}

/** The content of a session. */
export interface SessionContent {
  id: string
  values: string[]
  epochs: number[]
}

/** Reads the logs of all writers, except for incomplete last lines: a writer may have been killed. */
export function readWriterLogs(logs: readonly string[]): WriterLogs {
  const read: WriterLogs = { tried: new Map(), acknowledged: new Map(), fenced: 0 }
  for (const line of logs.flatMap((text) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n'))) {
    const [what, id = '', value = '', seq = '0'] = line.split(' ')
    if (what === 'fenced') read.fenced += 1
    if (what === 'try') read.tried.set(id, (read.tried.get(id) ?? new Set()).add(value))
    if (what === 'ack')
      read.acknowledged.set(
        id,
        (read.acknowledged.get(id) ?? new Map<string, number>()).set(value, Number(seq)),
      )
  }
  return read
}

/** Compares the sessions on a server with what their writers have logged. */
export async function judgeSessions(
  sessions: PostgresSessions,
  ids: readonly string[],
  texts: readonly { text: string }[],
): Promise<{ fenced: number; faults: string[] }> {
  const logs = readWriterLogs(texts.map(({ text }) => text))
  const faults: string[] = []
  for (const id of ids) {
    // Takes in what visitors left at the end.
    await (await sessions.store.resume(id)).close()
    if (!(await sessions.isWhole(id))) faults.push(`${id} is damaged`)
    const lines = await sessions.sql(
      `SELECT (line::json ->> 'epoch')::int AS epoch FROM stint.journal JOIN stint.session ON key = session
      WHERE id = $1 AND line::json ->> 'type' = 'n' ORDER BY seq`,
      id,
    )
    const values = (await sessions.data(id)) as string[]
    faults.push(...findFaults(logs, { id, values, epochs: lines.map(({ epoch }) => Number(epoch)) }))
  }
  return { fenced: logs.fenced, faults }
}

/** Everything that is wrong with a session. */
export function findFaults(
  { tried, acknowledged }: WriterLogs,
  { id, values, epochs }: SessionContent,
): string[] {
  const faults: string[] = []
  const places = new Map<string, number>()
  values.forEach((value, i) => {
    if (places.has(value)) faults.push(`${id}: ${value} is there twice`)
    if (!tried.get(id)?.has(value)) faults.push(`${id}: ${value} was never appended`)
    places.set(value, i + 1)
    if ((epochs[i] ?? 0) < (epochs[i - 1] ?? 0))
      faults.push(`${id}: ${value} was written by a writer that had lost the session`)
  })
  for (const [value, seq] of acknowledged.get(id) ?? []) {
    const place = places.get(value)
    if (place === undefined) faults.push(`${id}: ${value} was acknowledged and is not there`)
    else if (seq !== 0 && seq !== place) faults.push(`${id}: ${value} is ${place}, not ${seq}`)
  }
  return [...faults, ...findDisorder(id, values)]
}

/** Checks that the values of one caller, which it appends one after the other, are in that order. */
function findDisorder(id: string, values: readonly string[]): string[] {
  const last = new Map<string, number>()
  return values.flatMap((value) => {
    const [pid, caller, n] = value.split('.')
    const who = `${pid}.${caller}`
    const before = last.get(who) ?? 0
    last.set(who, Number(n))
    return Number(n) < before ? [`${id}: ${value} comes after ${before}`] : []
  })
}
