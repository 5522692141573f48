/**
 * Leases and sessions in PostgreSQL, for more than one machine.
 *
 * @module stint/postgres
 */
export { migrate, type MigrateReport } from './migrate.ts'
export { migrationScript } from './schema.ts'
export type { PostgresClient, PostgresPool } from './pool.ts'
export { postgresLeases, type PostgresLeasesOptions } from './leases.ts'
export { purge, type PurgeOptions, type PurgeReport } from './store/purge.ts'
export { postgresStore, type PostgresStoreOptions } from './store/medium.ts'
