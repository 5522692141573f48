import { expect, test } from 'vitest'
import { activityKinds } from '../../lease/index.ts'
import type { ClaimActivity } from '../server/protocol.ts'
import { activitySentence, whatText } from './format.ts'

const activity = (kind: ClaimActivity['kind'], more: Partial<ClaimActivity> = {}): ClaimActivity => ({
  at: 0,
  kind,
  session_id: 'first',
  pid: null,
  paths: ['**'],
  purpose: null,
  by: 'second',
  origin: { agent: 'Codex' },
  ...more,
})

const place = '/home/ana/src/shop'

test('each kind of activity is a sentence of its own, with both sessions and the name of the place', () => {
  const sentences = activityKinds.map((kind) => activitySentence(activity(kind, { held_ms: 61_000 }), place))
  expect(new Set(sentences).size).toBe(activityKinds.length)
  expect(activitySentence(activity('refusal'), place)).toBe(
    'Codex first may not change shop: second holds it',
  )
  expect(activitySentence(activity('takeover', { held_ms: 42_000 }), place)).toBe(
    'second took shop over from Codex first after 42s',
  )
  expect(activitySentence(activity('release', { held_ms: 61_000, paths: ['docs'] }), place)).toBe(
    'Codex first released docs in shop after 1m 1s',
  )
})

test('names and reasons of others cannot turn the sentence around', () => {
  const text = activitySentence(activity('break', { by: 'a\u202eb', reason: '\u001b[2J' }), 'x\u202e')
  expect(text).toContain(String.raw`a\u202eb broke`)
  expect(text).toContain(String.raw`x\u202e`)
  expect([text.includes('\u001b'), text.includes('\u202e')]).toEqual([false, false])
})

test('a whole workspace or resource has its own name, and paths are short', () => {
  expect(whatText(['**'], place)).toBe('shop')
  expect(whatText(['**'], 'deploy')).toBe('deploy')
  expect(whatText(['**'], '/')).toBe('/')
  expect(whatText(['src/a.ts', 'src/b.ts', 'docs'], place)).toBe('src/a.ts and 2 more in shop')
})
