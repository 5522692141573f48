import { errorMessage } from '../../base/errors/stint-error.ts'
import { noteWarning } from '../hook-log.ts'
import { drainQueue } from './recorder.ts'

drainQueue().catch((error: unknown) =>
  noteWarning({ agent: '', event: 'record', warning: errorMessage(error) }),
)
