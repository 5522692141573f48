import { isRequestId } from '../base/text/id.ts'
import type { Identity } from '../base/process/liveness.ts'

/**
 * A scratch is made under a staging name and renamed when its owner record is inside, so that none is ever
 * seen without an owner. The staging name itself says who is making it, for the sweep after a crash in between.
 */
export const stagingName = (requestId: string, by: Identity): string =>
  `.new-${requestId}-${by.pid}-${by.started ?? ''}-${by.pidns}-${by.boot.slice(0, 8)}`

/** Who is making this, as far as the name tells; undefined if it is no staging name. */
export function parseStagingName(name: string, here: Identity): Identity | undefined {
  const [, requestId = '', pid, started, pidns = '', boot = ''] =
    /^\.new-(\w+)-(\d{1,10})-(\d*)-(\d*)-([0-9a-f-]*)$/.exec(name) ?? []
  if (!isRequestId(requestId)) return undefined
  return {
    pid: Number(pid),
    started: started ? Number(started) : null,
    pidns,
    timens: here.timens,
    // The host is not in the name: another boot is then unknown, and age decides.
    host: '',
    boot: here.boot.startsWith(boot) ? here.boot : boot,
  }
}
