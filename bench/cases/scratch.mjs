import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { costOf, costOfAsync } from '../harness.mjs'

const batch = 100

/** `cycle(state, inside)` creates a directory, calls `inside` with its path, and removes it. */
const sync = (name, cycle) => ({
  name,
  check(state) {
    const seen = []
    state.place.renew()
    cycle(state, (path) => seen.push(inspect(path, state)))
    assertGone(seen)
  },
  run(state) {
    state.place.renew()
    return costOf(batch, () => cycle(state, nothing))
  },
})

const async = (name, cycle) => ({
  name,
  async check(state) {
    const seen = []
    state.place.renew()
    await cycle(state, (path) => seen.push(inspect(path, state)))
    assertGone(seen)
  },
  run(state) {
    state.place.renew()
    return costOfAsync(batch, () => cycle(state, nothing))
  },
})

const nothing = () => {}

function inspect(path, { place }) {
  assert(statSync(path).isDirectory(), `${path} was not made`)
  assert(path.startsWith(place.tmp), `${path} is not in the temp directory under test`)
  return path
}

function assertGone(seen) {
  assert.equal(seen.length, 1)
  assert(!existsSync(seen[0]), `${seen[0]} is still there`)
}

export default {
  name: 'scratch',
  about: `create + remove a scratch, ${batch} a sample`,
  unit: 'us',
  rounds: 30,
  subject: 'stint',
  targets: [
    { against: 'mkdtempSync + rmSync', atMost: 2 },
    { against: 'tmp', atMost: 1.2 },
    { against: 'tempy', atMost: 1 },
  ],
  // The peers are loaded here, not above: tempy reads TMPDIR when it is loaded.
  async setup({ place, stint }) {
    const [{ createScratch }, { default: tmp }, { temporaryDirectoryTask }] = await Promise.all([
      import(stint.library),
      import('tmp'),
      import('tempy'),
    ])
    return { place, createScratch, tmp, temporaryDirectoryTask }
  },
  contenders: [
    sync('stint', ({ createScratch }, inside) => {
      const scratch = createScratch()
      inside(scratch.path)
      scratch.remove()
    }),
    {
      ...async('mkdtemp + rm', async ({ place }, inside) => {
        const path = await mkdtemp(join(place.tmp, 'bench-'))
        inside(path)
        await rm(path, { recursive: true, force: true })
      }),
      floor: true,
    },
    sync('mkdtempSync + rmSync', ({ place }, inside) => {
      const path = mkdtempSync(join(place.tmp, 'bench-'))
      inside(path)
      rmSync(path, { recursive: true, force: true })
    }),
    sync('tmp', ({ tmp }, inside) => {
      const { name, removeCallback } = tmp.dirSync({ unsafeCleanup: true })
      inside(name)
      removeCallback()
    }),
    async('tempy', ({ temporaryDirectoryTask }, inside) => temporaryDirectoryTask(inside)),
  ],
}
