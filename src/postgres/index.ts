export { migrate, type MigrateReport } from './migrate.ts'
export { migrationScript } from './migrations.ts'
export type { PostgresClient, PostgresPool } from './pool.ts'
export { postgresRegister, type PostgresRegisterOptions, type PostgresStep } from './register.ts'
