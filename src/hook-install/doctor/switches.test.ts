import { expect, test } from 'vitest'
import { codexTrust, switchedOff } from './switches.ts'

test.each([
  ['[features]\nhooks = false', true],
  ['[ features ]\n  codex_hooks=false', true],
  ['features.hooks = false\n', true],
  ['[features]\nhooks = true', false],
  ['[features]\n# hooks = false', false],
  ['[other]\nhooks = false', false],
  ['[features]\nx = 1\n[[hooks.PreToolUse]]\nhooks = false', false],
  ['', false],
])('%j switches hooks off: %s', (toml, off) => {
  expect(switchedOff(toml)).toBe(off)
})

test.each([
  ['[hooks.state."/h/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n', 'trusted'],
  ['[hooks.state]\n"/h/hooks.json:pre_tool_use:2:0" = { trusted_hash = "sha256:0" }\n', 'trusted'],
  ['[hooks.state."/h/hooks.json:pre_tool_use:0:0"]\nenabled = false\n[x]\n', 'disabled'],
  ['[hooks.state."/h/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "x"\n[x]\nenabled = false\n', 'trusted'],
  ['[hooks.state."/h/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:0"\n', 'unknown'],
  ['[hooks.state."/other/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n', 'unknown'],
  ['', 'unknown'],
])('what Codex has written down about our hook: %j is %s', (toml, trust) => {
  expect(codexTrust(toml, ['/h/hooks.json'])).toBe(trust)
})
