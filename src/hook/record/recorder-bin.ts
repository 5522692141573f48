import { drainQueue } from './recorder.ts'

void drainQueue()
