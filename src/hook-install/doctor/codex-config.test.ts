import { expect, test } from 'vitest'
import { readCodexConfig } from './codex-config.ts'

const key = '/h/hooks.json:pre_tool_use:0:0'
const read = (toml: string) => readCodexConfig(toml, ['/h/hooks.json'])

test.each([
  ['[features]\nhooks = false', true],
  ['[ features ]\n  codex_hooks=false', true],
  ['features.hooks = false\n', true],
  ['features = { hooks = false }', true],
  ['[features]\n"hooks" = false', true],
  [`"features".'codex_hooks' = false`, true],
  ['[features]\nhooks = true', false],
  ['[features]\n# hooks = false', false],
  ['[other]\nhooks = false', false],
  ['[features]\nx = 1\n[[hooks.PreToolUse]]\nhooks = false', false],
  ['note = """\n[features]\nhooks = false\n"""\n', false],
  ['features = false', false],
  ['', false],
])('%j switches hooks off: %s', (toml, off) => {
  expect(read(toml)).toMatchObject({ off })
})

test.each([
  [`[hooks.state."${key}"]\ntrusted_hash = "sha256:0"\n`, 'trusted'],
  ['[hooks.state]\n"/h/hooks.json:pre_tool_use:2:0" = { trusted_hash = "sha256:0" }\n', 'trusted'],
  [`[hooks.state."${key}"]\nenabled = false\n[x]\n`, 'disabled'],
  [`[hooks.state.'${key}']\n"enabled" = false\n`, 'disabled'],
  [`hooks = { state = { "${key}" = { enabled = false } } }\n`, 'disabled'],
  [`[hooks.state."${key}"]\ntrusted_hash = "x"\n[x]\nenabled = false\n`, 'trusted'],
  ['[hooks.state."/h/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:0"\n', 'unknown'],
  ['[hooks.state."/other/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n', 'unknown'],
  [`note = """\n[hooks.state."${key}"]\n"""\n`, 'unknown'],
  [`# ${key}\n`, 'unknown'],
  ['', 'unknown'],
])('Codex has recorded the hook in %j as %s', (toml, trust) => {
  expect(read(toml)).toMatchObject({ trust })
})

test.each(['[features', 'hooks = ', 'a = 1\na = 2', '\0'])(
  '%j is reported as invalid TOML, with its place',
  (toml) => {
    expect(read(toml)).toEqual({ invalid: expect.stringMatching(/^line \d+, column \d+: ./) })
  },
)
