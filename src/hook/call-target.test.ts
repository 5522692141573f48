import { expect, test } from 'vitest'
import { SecretGate } from '../secrets/index.ts'
import { purposeOf, touchedPaths } from './call-target.ts'

test('each file of a patch is listed once', () => {
  const command = `*** Begin Patch
*** Add File: a.ts
+*** Update File: not this
*** Update File: b.ts
*** Move to: c.ts
*** Delete File: d.ts
*** Update File: b.ts
*** End Patch`
  expect(touchedPaths({ input: { command } })).toEqual(['a.ts', 'b.ts', 'c.ts', 'd.ts'])
  expect(touchedPaths({ input: { command: 7 } })).toEqual([])
})

test.each([
  [{ command: 'npm test', description: 'Run the\n tests' }, 'Claude Code: Bash (Run the tests)'],
  [{ command: 'npm test --token x' }, 'Claude Code: Bash npm'],
  [{ command: 'TOKEN=x deploy' }, 'Claude Code: Bash'],
  [{}, 'Claude Code: Bash'],
])('the purpose of a command leaves its arguments out: %j', (input, purpose) => {
  expect(purposeOf({ host: 'claude', tool: { name: 'Bash', use: 'shell', input } }, new SecretGate())).toBe(
    purpose,
  )
})
