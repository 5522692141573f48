import { expect, test } from 'vitest'
import type { InstalledTimer } from '../../sweep/index.ts'
import { judgeTimer } from './timer.ts'

test('the timer: none is fine; one that starts missing files, or that nothing starts, is not', () => {
  const judge = (given: Partial<InstalledTimer>) =>
    judgeTimer({ kind: 'none', systemd: true, active: false, missing: [], ...given }).level
  expect(judge({})).toBe('ok')
  expect(judge({ kind: 'systemd', active: true })).toBe('ok')
  expect(judge({ kind: 'systemd' })).toBe('fail')
  expect(judge({ kind: 'systemd', active: true, missing: ['/gone'] })).toBe('fail')
  expect(judge({ kind: 'systemd', systemd: false })).toBe('warn')
  expect(judge({ kind: 'cron' })).toBe('ok')
  expect(judge({ kind: 'cron', missing: ['/gone'] })).toBe('fail')
})
