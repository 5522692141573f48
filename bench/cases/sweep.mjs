import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const living = 1000

/** Makes a scratch as a run leaves it: two directories, an owner record, one file. */
function plant({ newRequestId }, root, identity) {
  const requestId = newRequestId()
  const path = join(root, requestId)
  mkdirSync(join(path, '.stint'), { recursive: true, mode: 0o700 })
  const owner = { schema_version: 1, request_id: requestId, created_at: 0, keep: 'never', identity }
  writeFileSync(join(path, '.stint/owner.json'), JSON.stringify(owner))
  writeFileSync(join(path, 'work'), 'work')
}

/** Nanoseconds a scratch, dead or living. */
async function sweepAmong({ place, library }, dead) {
  const tmp = place.renew()
  const scratch = library.createScratch()
  const { root } = scratch
  const me = library.identify()
  for (let i = 0; i < living; i++) plant(library, root.path, me)
  for (let i = 0; i < dead; i++) plant(library, root.path, { ...me, pid: 0x7ffffff0 })
  const start = process.hrtime.bigint()
  const { removed, kept } = await library.sweep({ root })
  const cost = Number(process.hrtime.bigint() - start)
  assert.deepEqual([removed.length, kept.length], [dead, living + 1])
  assert(readdirSync(tmp).length > 0)
  scratch.remove()
  return cost / (dead + living)
}

export default {
  name: 'sweep',
  about: `sweep dead scratches among ${living.toLocaleString('en')} living ones; time a scratch`,
  unit: 'us',
  rounds: 4,
  subject: '10,000 dead',
  targets: [{ against: '2,000 dead', atMost: 1.5 }],
  setup: async ({ place, stint }) => ({ place, library: await import(stint.library) }),
  contenders: [2000, 10_000].map((dead) => ({
    name: `${dead.toLocaleString('en')} dead`,
    check: (state) => sweepAmong(state, 10),
    run: (state) => sweepAmong(state, dead),
  })),
}
