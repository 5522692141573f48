import { expect, test } from 'vitest'
import { activityKinds } from '../../lease/index.ts'
import type { ClaimActivity } from '../protocol.ts'
import { activitySentence, pathsText } from './activity-sentence.ts'

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

test('each kind of activity is a sentence of its own, with both sessions', () => {
  const sentences = activityKinds.map((kind) => activitySentence(activity(kind, { held_ms: 61_000 })))
  expect(new Set(sentences).size).toBe(activityKinds.length)
  expect(activitySentence(activity('refusal'))).toBe('Codex first may not change all of it: second holds it')
  expect(activitySentence(activity('takeover', { held_ms: 61_000 }))).toBe(
    'second took all of it over from Codex first after 1m 1s',
  )
})

test('names and reasons of others cannot turn the sentence around', () => {
  const text = activitySentence(activity('break', { by: 'a\u202eb', reason: '\u001b[2J' }))
  expect(text).toContain(String.raw`a\u202eb broke`)
  expect(text).not.toContain('\u001b')
})

test('paths are short', () => {
  expect(pathsText(['**'])).toBe('all of it')
  expect(pathsText(['src/a.ts', 'src/b.ts', 'docs'])).toBe('src/a.ts and 2 more')
})
