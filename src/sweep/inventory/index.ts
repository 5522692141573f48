/** The inventory behind the sweep's door, which loads it when it is first used. */
export { recordSweep, summarizeHistory } from './history.ts'
export { measureEntries } from './measure-entries.ts'
export { tracePath } from './trace-path.ts'
