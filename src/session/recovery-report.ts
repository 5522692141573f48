import type { FoldedState } from './state.ts'
import type { RecoveryReport } from './store.ts'

/** Of a session that was opened without a recovery. */
export const nothingToReport = (): RecoveryReport => ({ replayed: 0, cut: [], ignored: [], brokenSlots: [] })

/** The slots whose values could not be read. */
export const brokenSlots = ({ slots }: FoldedState): RecoveryReport['brokenSlots'] =>
  [...slots].flatMap(([ext, { broken: why }]) => (why === undefined ? [] : [{ ext, why }]))
