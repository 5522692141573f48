import { join } from 'node:path'
import { recordCall, type RecordRequest } from './record.ts'

/** Queues a call, and starts a recorder in the background when one is due. */
export function record(request: RecordRequest): void {
  if (recordCall(request)) startRecorder(request.env)
}

/** Detached, so that the recorder outlives the hook, its shell and its terminal. */
function startRecorder(env: NodeJS.ProcessEnv): void {
  // Loaded here: most calls do not need it, and it takes longer to load than the rest of the hook.
  const { spawn } = require('node:child_process') as typeof import('node:child_process')
  const recorder = join(__dirname, 'hook-recorder.cjs')
  // Node reads extra certificates at every start, for 50 ms or more; the recorder needs none.
  const withoutCertificates = { ...env, NODE_EXTRA_CA_CERTS: undefined }
  const options = { detached: true, stdio: 'ignore' as const, env: withoutCertificates }
  const child = spawn(process.execPath, [recorder], options)
  // If the recorder cannot be started, a later one writes the queue.
  child.on('error', () => {})
  child.unref()
}
