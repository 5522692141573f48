import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { allAgents, hasAgent } from '../../src/hooks/install/agents.ts'
import { cleanEnvironment } from './clean-environment.ts'
import { World } from './world.ts'

afterEach(() => void vi.unstubAllEnvs())

test('the suite does not see the agents of the user who runs it', async () => {
  await using world = new World()
  const bin = join(world.tmp, 'bin')
  mkdirSync(bin)
  for (const name of ['claude', 'codex', 'other']) {
    writeFileSync(join(bin, name), '#!/bin/sh\n')
    chmodSync(join(bin, name), 0o755)
  }
  vi.stubEnv('PATH', [bin, process.env.PATH].join(delimiter))
  const changed = Object.keys(process.env).filter((name) => name.startsWith('STINT_'))
  for (const name of [...changed, 'SYSTEM_PATH', 'TMPDIR']) vi.stubEnv(name, process.env[name])
  expect(allAgents.filter((agent) => hasAgent(agent))).toEqual(['claude', 'codex'])
  process.env.TMPDIR = world.tmp
  cleanEnvironment()
  expect(allAgents.filter((agent) => hasAgent(agent))).toEqual([])
  expect((await world.start('sh', ['-c', 'command -v other'], { env: process.env }).finished).code).toBe(0)
})
