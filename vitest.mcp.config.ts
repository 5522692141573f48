import { defineConfig } from 'vitest/config'
import { cleanEnvironment } from './test/support/clean-environment.ts'

cleanEnvironment()

/** `npm run test:mcp`: the MCP server and the official tools for such servers. */
export default defineConfig({
  test: {
    include: ['test/mcp/**/*.mcp.ts'],
    pool: 'forks',
    testTimeout: 120_000,
  },
})
