import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { progressLine, showWork, wantsProgress } from './progress.ts'

const count = { done: 250, total: 1000 }
const line = (columns: number, done: object): string => progressLine('sweeping', done, 4200, columns)
const done = { count, bytes: 3 << 20 }

test('the line shows the progress, and is always narrower than the terminal', () => {
  expect(line(80, done)).toBe('sweeping 250/1000  3.0 MiB  4s')
  expect(line(80, { bytes: 3 << 20 })).toBe('sweeping  3.0 MiB  4s')
  for (const columns of [0, 1, 10, 40]) expect(line(columns, done).length).toBeLessThanOrEqual(columns)
})

test('a progress bar is shown only on a terminal that can be redrawn', () => {
  expect(wantsProgress(true, {})).toBe(true)
  expect(wantsProgress(false, {})).toBe(false)
  expect(wantsProgress(true, { CI: 'true' })).toBe(false)
  expect(wantsProgress(true, { TERM: 'dumb' })).toBe(false)
})

test('work without a size shows how long it takes', () => {
  expect(progressLine('measuring', {}, 2500, 80)).toBe('measuring  2s')
})

test('work that has ended, or was interrupted, leaves no listener', async () => {
  const controller = new AbortController()
  const context = { signal: controller.signal, quiet: true }
  expect(await showWork('measuring', context, async () => 7)).toBe(7)
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  const endless = showWork('measuring', context, () => new Promise(() => {}))
  controller.abort(new Error('stopped'))
  await expect(endless).rejects.toThrow('stopped')
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
})
