import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { projectRoot, World } from '../../../test/support/world.ts'
import { forgetCodexTrust, readCodexTrust } from './codex-trust-file.ts'

/** Hooks as stint writes them, and the hashes that the real Codex computes for them. */
const { hooks, hashes } = JSON.parse(
  readFileSync(join(projectRoot, 'test/fixtures/codex/trusted-hooks.json'), 'utf8'),
) as { hooks: object; hashes: Record<string, string> }

let world: World
let path: string
beforeEach(() => {
  world = new World()
  path = join(world.tmp, 'hooks.json')
  vi.stubEnv('CODEX_HOME', world.tmp)
  writeFileSync(path, JSON.stringify({ hooks }))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const note = (trusted: Record<string, string>): void => {
  const tables = Object.entries(trusted).map(
    ([key, hash]) => `[hooks.state.${JSON.stringify(`${path}:${key}`)}]\ntrusted_hash = "${hash}"\n`,
  )
  writeFileSync(join(world.tmp, 'config.toml'), `model = "a"\n\n${tables.join('\n')}`)
}

test('hooks count as trusted if Codex has noted the hash of each', () => {
  expect(Object.keys(hashes).length).toBeGreaterThan(5)
  note(hashes)
  expect(readCodexTrust(path)).toBe('trusted')
})

test('without a note of Codex, or with one missing, they count as untrusted', () => {
  expect(readCodexTrust(path)).toBe('untrusted')
  note({})
  expect(readCodexTrust(path)).toBe('untrusted')
  const { 'pre_tool_use:0:0': _, ...others } = hashes
  note(others)
  expect(readCodexTrust(path)).toBe('untrusted')
})

test('another hash proves nothing, as the hook or the way to compute it may have changed', () => {
  note({ ...hashes, 'pre_tool_use:0:0': 'sha256:00' })
  expect(readCodexTrust(path)).toBe('unknown')
})

test('files that cannot be understood prove nothing either', () => {
  note(hashes)
  writeFileSync(path, '{"hooks": {"PreToolUse": [3, {"hooks": "x"}]}}')
  expect(readCodexTrust(path)).toBe('unknown')
  mkdirSync(join(world.tmp, 'other'))
  expect(readCodexTrust(join(world.tmp, 'other'))).toBe('unknown')
})

test('the notes about hooks that are taken out go, and everything else in config.toml stays', () => {
  note({ ...hashes, 'stop:7:0': 'sha256:other' })
  const config = join(world.tmp, 'config.toml')
  writeFileSync(config, `${readFileSync(config, 'utf8')}\n[projects."/x"]\ntrust_level = "trusted"\n`)
  forgetCodexTrust(path)
  expect(readCodexTrust(path)).toBe('untrusted')
  const other = `[hooks.state.${JSON.stringify(`${path}:stop:7:0`)}]\ntrusted_hash = "sha256:other"\n`
  expect(readFileSync(config, 'utf8')).toBe(
    `model = "a"\n\n${other}\n[projects."/x"]\ntrust_level = "trusted"\n`,
  )
})
