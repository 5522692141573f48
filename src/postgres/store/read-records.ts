import type { RecordRange } from '../../session/index.ts'
import { checkRecord, type LogName, type LogRecord, parseLogRecord } from '../../session/log/index.ts'
import { readData } from './blob-row.ts'
import type { Database } from '../database.ts'
import { linesOf, type LogLine } from './log-lines.ts'

/** The records of a log, in order, as far as they are whole: it ends before the first that is bad or missing. Safe while somebody else writes. */
export async function* readLog(
  database: Database,
  log: LogName,
  key: string,
  { from = 1, to = Number.MAX_SAFE_INTEGER }: RecordRange = {},
): AsyncGenerator<LogRecord> {
  let wanted = Math.max(1, from)
  for await (const line of linesOf(database, log, key, { from: wanted, to })) {
    if (line.seq !== wanted || !isWhole(line)) return
    yield await readData(database, key, parseLogRecord(Buffer.from(line.line)))
    wanted += 1
  }
}

/** From the last record that is whole backwards. */
export async function* readJournalBackwards(
  database: Database,
  key: string,
  to = Number.MAX_SAFE_INTEGER,
): AsyncIterable<LogRecord> {
  let next: number | undefined
  for await (const line of linesOf(database, 'journal', key, { from: 1, to, backwards: true })) {
    if (next === undefined && !isWhole(line)) continue
    if ((next ?? line.seq) !== line.seq || !isWhole(line)) return
    yield await readData(database, key, parseLogRecord(Buffer.from(line.line)))
    next = line.seq - 1
  }
}

const isWhole = ({ seq, line }: LogLine): boolean => checkRecord(Buffer.from(line))?.seq === seq
