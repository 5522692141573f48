import { StintError } from '../../base/errors/stint-error.ts'

/** After a session was closed, whatever keeps it. */
export const sessionClosed = (): StintError =>
  new StintError('SESSION_CLOSED', 'the session is closed: nothing more can be written to it')
