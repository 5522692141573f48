import { expect, test } from 'vitest'
import { attestedBy, factsOf, type Manifest, newManifest, parseManifest, revised } from './manifest.ts'

/** Adds a resume and a close this many times. */
function reopened(manifest: Manifest, times: number, seq = 0): Manifest {
  let next = manifest
  for (let i = 1; i <= times; i++) {
    next = revised(next, i, { kind: 'resume', pid: 4711, host: 'somewhere' })
    next = revised(next, i, { kind: 'close', seq: seq + i, crc: '0a1b2c3d' })
  }
  return next
}

const created = (): Manifest =>
  revised(newManifest('mine', 'filesystem', 0), 0, {
    kind: 'create',
    tool: 'agent',
    mask: 'registered',
    secrets: [{ kind: 'env', name: 'API_KEY' }],
  })

test('a manifest stays small after thousands of resumes, and keeps the facts and what attests the logs', () => {
  let manifest = reopened(created(), 1000)
  manifest = revised(manifest, 1, { kind: 'annotate', title: 'a title', workspace: '/w' })
  manifest = revised(manifest, 1, { kind: 'repair', seq: 1000, audit: { count: 7, head: 'h' } })
  const small = JSON.stringify(manifest).length
  manifest = reopened(manifest, 4000, 1000)
  expect(JSON.stringify(manifest).length).toBeLessThan(small * 2)
  expect(factsOf(manifest)).toEqual({
    tool: 'agent',
    title: 'a title',
    workspace: '/w',
    mask: 'registered',
    secrets: [{ kind: 'env', name: 'API_KEY' }],
  })
  expect(attestedBy(manifest)).toEqual({ seq: 5000, audit: { count: 7, head: 'h' } })
  const { revisions } = manifest
  expect(revisions.map(({ kind }) => kind).slice(0, 3)).toEqual(['create', 'annotate', 'repair'])
  // The numbers show how many were left out.
  expect([revisions.at(0)?.rev, revisions.at(-1)?.rev]).toEqual([1, 10_003])
  expect(parseManifest(JSON.stringify(manifest))).toEqual(manifest)
})

test('the last close attests the logs even after many crashes', () => {
  let manifest = reopened(created(), 3)
  for (let i = 0; i < 100; i++) manifest = revised(manifest, i, { kind: 'resume', pid: 1 })
  expect(attestedBy(manifest).seq).toBe(3)
  expect(manifest.revisions.length).toBeLessThan(40)
})

test('a manifest with thousands of revisions is read, and becomes small at the next one', () => {
  const revisions = Array.from({ length: 5000 }, (_, i) => ({
    rev: i + 1,
    at: 'then',
    kind: 'resume' as const,
  }))
  const manifest = parseManifest(JSON.stringify({ ...created(), revisions }))
  expect(manifest?.revisions).toHaveLength(5000)
  const next = revised(manifest as Manifest, 0, { kind: 'close', seq: 0 })
  expect(next.revisions.at(-1)).toMatchObject({ rev: 5001, kind: 'close' })
  expect(next.revisions.length).toBeLessThan(40)
})
