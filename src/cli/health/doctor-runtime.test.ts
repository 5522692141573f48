import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '../../../test/support/world.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import { judgeIdentity, judgeNode } from './doctor.ts'

test('node: the version that package.json requires is the least', () => {
  const { engines } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    engines: { node: string }
  }
  const least = engines.node.replace('>=', '')
  expect(judgeNode(`${least}.0`).level).toBe('ok')
  expect(judgeNode('22.0.0').level).toBe('ok')
  expect(judgeNode('20.14.9')).toMatchObject({ level: 'fail', fix: expect.stringContaining(least) })
  expect(judgeNode('18.20.0').level).toBe('fail')
})

test('processes: a missing start time, boot id or machine id is a warning', () => {
  expect(judgeIdentity(ownIdentity()).level).toBe('ok')
  for (const lack of [{ started: null }, { boot: '' }, { host: '' }])
    expect(judgeIdentity({ ...ownIdentity(), ...lack }).level).toBe('warn')
})
