import { maxTtlMs } from '../../lease/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'

/** `--ttl` of acquire and of run: longer than this no claim lasts, whatever its record says. */
export function assertTtl(ttlMs: number | undefined): void {
  if (ttlMs === undefined || (ttlMs > 0 && ttlMs <= maxTtlMs)) return
  throw new StintError('ARG_ERROR', '--ttl must be more than 0 and at most 30d')
}
