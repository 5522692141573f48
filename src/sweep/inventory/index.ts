/** The part of the sweep's door that `stint temp` and `stint status` need. It is loaded when it is first used. */
export { type History, readHistory, recordSample, recordSweep } from './history.ts'
export { measureEntries } from './measure-entries.ts'
export { tracePath } from './trace-path.ts'
