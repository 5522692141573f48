import { posix } from 'node:path'
import { manifest } from './package-consumer.ts'

/** Every value that a user finds under each subpath. Some work in their test runner only. */
export const promised: Record<string, string[] | 'in its runner' | 'JSON'> = {
  '.': [
    'StintError',
    'acquireLease',
    'acquireLeaseSync',
    'createScratch',
    'errorTable',
    'filesystemStore',
    'findWorkspace',
    'formatDuration',
    'identify',
    'isRequestId',
    'isSessionId',
    'liveness',
    'memoryRegister',
    'newRequestId',
    'newSessionId',
    'parseDuration',
    'resourceChannel',
    'sweep',
    'sweepSync',
    'systemClock',
    'ulid',
  ],
  './command': ['defineBareCommand', 'defineCommand', 'runMain'],
  './jest': ['scratch'],
  './jest/environment': 'in its runner',
  './jest/global-setup': ['default'],
  './jest/global-teardown': ['default'],
  './lock': [
    'LOCK_DEFAULT_TTL_MS',
    'LOCK_SCHEMA_VERSION',
    'acquire',
    'blockReason',
    'computeWorkspaceHash',
    'decide',
    'refresh',
    'release',
  ],
  './node-test': ['scratch'],
  './node-test/register': 'in its runner',
  './postgres': ['migrate', 'migrationScript', 'postgresRegister', 'postgresStore', 'purge'],
  './opencode': ['stintPlugin'],
  './testing': ['registerConformance', 'storeConformance'],
  './vitest': 'in its runner',
  './vitest/global-setup': ['default'],
  './vitest/setup': 'in its runner',
  './schema/envelope.json': 'JSON',
  './package.json': 'JSON',
}

/** How a user names a subpath. */
export const specifier = (subpath: string): string => posix.join(manifest.name, subpath)
