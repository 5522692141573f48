import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '../../../test/support/world.ts'
import { hosts } from '../../hook/hosts.ts'
import type { HostName } from '../../hook/host.ts'
import { checkedVersions, isNewer } from './agent-version.ts'

test.each([
  ['2.2.0', '2.1.325', true],
  ['2.1.326', '2.1.325', true],
  ['10.0.0', '9.9.9', true],
  ['2.1.325', '2.1.325', false],
  ['2.1.99', '2.1.325', false],
  ['1.9.9', '2.0.0', false],
])('%s is newer than %s: %s', (version, than, expected) => {
  expect(isNewer(version, than)).toBe(expected)
})

test.each(Object.entries(checkedVersions))('the page about hooks names %s %s', (agent, version) => {
  const page = readFileSync(join(projectRoot, 'docs/hooks.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith(`| ${hosts[agent as HostName].title} | `))
  expect(rows.join('\n')).toContain(version)
})
