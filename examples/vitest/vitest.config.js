import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['stint/vitest/global-setup'],
    setupFiles: ['stint/vitest/setup'],
  },
})
