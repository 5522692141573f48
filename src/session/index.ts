/** The door of sessions. */
export {
  type StagedSweepOptions,
  sweepStagedSessions,
  type SweptStagedSession,
} from './files/staged-session.ts'
