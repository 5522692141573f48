import { join } from 'node:path'
import { recordCall, type RecordRequest } from './record.ts'

/** Records, and leaves the rest to a process that nobody waits for. */
export function record(request: RecordRequest): void {
  if (recordCall(request)) startRecorder(request.env)
}

/** In a session of its own: it lives on when the hook, its shell or its terminal ends. */
function startRecorder(env: NodeJS.ProcessEnv): void {
  // Loaded here, since most calls do without, and it takes longer to load than all the rest.
  const { spawn } = require('node:child_process') as typeof import('node:child_process')
  const recorder = join(__dirname, 'hook-recorder.cjs')
  // Of the certificates that Node would read first, it needs none.
  const withoutCertificates = { ...env, NODE_EXTRA_CA_CERTS: undefined }
  const options = { detached: true, stdio: 'ignore' as const, env: withoutCertificates }
  const child = spawn(process.execPath, [recorder], options)
  // No process left, or no such node any more: what waits is written another time.
  child.on('error', () => {})
  child.unref()
}
