import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { ProgressBar, progressLine, showWork, wantsProgress } from './progress.ts'

const count = { done: 250, total: 1000 }
const progress = { label: 'sweeping', count, bytes: 3 << 20, elapsedMs: 4200 }

test('the line shows the progress, and is always narrower than the terminal', () => {
  expect(progressLine(progress, 80)).toBe('sweeping 250/1000  3.0 MiB  4s')
  expect(progressLine({ ...progress, count: undefined }, 80)).toBe('sweeping  3.0 MiB  4s')
  for (const columns of [0, 1, 10, 40])
    expect(progressLine(progress, columns).length).toBeLessThanOrEqual(columns)
})

test('a progress bar is shown only on a terminal that can be redrawn', () => {
  expect(wantsProgress(true, {})).toBe(true)
  expect(wantsProgress(false, {})).toBe(false)
  expect(wantsProgress(true, { CI: 'true' })).toBe(false)
  expect(wantsProgress(true, { TERM: 'dumb' })).toBe(false)
})

test('a quick operation draws nothing; a long one redraws its line now and then, and clears it at the end', () => {
  let time = 0
  const written: string[] = []
  const bar = new ProgressBar({
    label: 'sweeping',
    columns: 80,
    write: (text) => written.push(text),
    now: () => time,
  })
  for (time = 0; time < 500; time += 10) bar.update(progress)
  expect(written).toEqual([])
  for (time = 500; time < 1000; time += 10) bar.update(progress)
  expect(written).toHaveLength(5)
  for (const text of written)
    expect([text.startsWith('\r\x1b[Ksweeping 250/'), text.includes('\n')]).toEqual([true, false])
  bar.clear()
  bar.clear()
  time = 5000
  bar.update(progress)
  expect(written.slice(5)).toEqual(['\r\x1b[K'])
})

test('a bar that was never drawn clears nothing', () => {
  const written: string[] = []
  const bar = new ProgressBar({ label: '', columns: 80, write: (text) => written.push(text), now: () => 0 })
  bar.update(progress)
  bar.clear()
  expect(written).toEqual([])
})

test('work without a size shows how long it takes', () => {
  expect(progressLine({ label: 'measuring', elapsedMs: 2500 }, 80)).toBe('measuring  2s')
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
