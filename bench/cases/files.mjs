import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { program } from '../prepare.mjs'

const content = 'thirty-two bytes in each of them'

async function setup({ place, stint }) {
  const [library, { default: tmp }, tempy, { rimraf, rimrafSync }] = await Promise.all([
    import(stint.library),
    import('tmp'),
    import('tempy'),
    import('rimraf'),
  ])
  return {
    place,
    library,
    tmp,
    tempy,
    rimraf,
    rimrafSync,
    makeTree: program('make-tree'),
    unlinkTree: program('unlink-tree'),
  }
}

const elapsed = (act) => {
  const start = process.hrtime.bigint()
  act()
  return Number(process.hrtime.bigint() - start)
}

const numbers = (...command) =>
  execFileSync(command[0], command.slice(1), { encoding: 'utf8' }).trim().split(' ').map(Number)

/** Runs `act` with a scratch in a new temp directory; its removal does not count. */
function inScratch({ place, library }, act) {
  place.renew()
  const scratch = library.createScratch()
  try {
    return act(scratch)
  } finally {
    scratch.remove()
  }
}

const count = 5000

/**
 * `make(state, count, inspect)` creates the files, calls `inspect` with their directory, and returns the
 * cost.
 */
const creator = (name, make, extra = {}) => ({
  name,
  check: (state) => make(state, 10, (directory) => assert.equal(readdirSync(directory).length, 10)),
  run: (state) => make(state, count, () => {}) / count,
  ...extra,
})

const create = {
  name: 'create-5000',
  about: 'create 5,000 files of 32 bytes with unique names; time a file',
  unit: 'us',
  rounds: 12,
  subject: 'stint',
  targets: [
    { against: 'C open, write, close', atMost: 1.2 },
    { against: 'tmp', faster: 3 },
  ],
  setup,
  contenders: [
    creator('stint', (state, many, inspect) =>
      inScratch(state, (scratch) => {
        const context = scratch.context('bench')
        const { path } = context
        const cost = elapsed(() => {
          for (let i = 0; i < many; i++) context.file(undefined, content)
        })
        inspect(path)
        return cost
      }),
    ),
    creator(
      'C open, write, close',
      (state, many, inspect) => {
        const directory = join(state.place.renew(), 'c')
        const [, cost] = numbers(state.makeTree, directory, '0', '0', String(many))
        inspect(directory)
        return cost
      },
      { floor: true },
    ),
    creator('tmp', ({ place, tmp }, many, inspect) => {
      const tmpdir = place.renew()
      const made = []
      const cost = elapsed(() => {
        for (let i = 0; i < many; i++) {
          const file = tmp.fileSync({ tmpdir })
          writeAndClose(file.fd)
          made.push(file)
        }
      })
      inspect(tmpdir)
      for (const { removeCallback } of made) removeCallback()
      return cost
    }),
    creator('tempy', ({ place, tempy }, many, inspect) => {
      const tmpdir = place.renew()
      const cost = elapsed(() => {
        for (let i = 0; i < many; i++) tempy.temporaryWriteSync(content)
      })
      inspect(tmpdir)
      return cost
    }),
  ],
}

function writeAndClose(fd) {
  writeSync(fd, content)
  closeSync(fd)
}

const cleaner = (name, clean) => ({ name, clean })

/** Each removes a directory and returns the cost. */
const cleaners = [
  {
    name: 'C unlinkat',
    floor: true,
    clean: ({ unlinkTree }, directory) => numbers(unlinkTree, directory)[0],
  },
  cleaner('fs.rmSync', (_, directory) => elapsed(() => rmSync(directory, { recursive: true, force: true }))),
  cleaner('fs.promises.rm', async (_, directory) => {
    const start = process.hrtime.bigint()
    await rm(directory, { recursive: true, force: true })
    return Number(process.hrtime.bigint() - start)
  }),
  cleaner('rimraf sync', ({ rimrafSync }, directory) => elapsed(() => rimrafSync(directory))),
  cleaner('rimraf', async ({ rimraf }, directory) => {
    const start = process.hrtime.bigint()
    await rimraf(directory)
    return Number(process.hrtime.bigint() - start)
  }),
  cleaner('rm -rf', (_, directory) => elapsed(() => execFileSync('rm', ['-rf', '--', directory]))),
]

/** Fills a directory with a tree; returns its number of entries. */
const fill = ({ makeTree }, directory, { depth, width, files }) =>
  numbers(makeTree, directory, String(depth), String(width), String(files))[0]

/** stint cleans a context of a scratch that contains the tree. */
const stintCleaner = (name, tree) => ({
  name,
  check: (state) => clean(state, tree, (directory) => assert(!existsSync(directory))),
  run: (state) => clean(state, tree, () => {}),
})

function clean(state, tree, inspect) {
  return inScratch(state, (scratch) => {
    const context = scratch.context('bench')
    const directory = join(context.path, 'tree')
    const entries = fill(state, directory, tree)
    const cost = elapsed(() => assert.deepEqual(context.clean().failures, []))
    inspect(directory)
    return cost / entries
  })
}

const peerCleaner = ({ clean, ...contender }, tree) => {
  const measure = async (state) => {
    const directory = join(state.place.renew(), 'tree')
    const entries = fill(state, directory, tree)
    const cost = await clean(state, directory)
    assert(!existsSync(directory))
    return cost / entries
  }
  return { ...contender, check: measure, run: measure }
}

const cleaning = (name, about, tree, { rounds, targets }) => ({
  name,
  about: `remove ${about}; time an entry`,
  unit: 'us',
  rounds,
  subject: 'stint',
  targets,
  setup,
  contenders: [stintCleaner('stint', tree), ...cleaners.map((contender) => peerCleaner(contender, tree))],
})

const floorTarget = { against: 'C unlinkat', atMost: 1.2 }

const growth = {
  name: 'clean-growth',
  about: 'clean a context with 500,000 files, against smaller ones; time an entry',
  unit: 'us',
  rounds: 3,
  subject: '500,000 files',
  targets: [{ against: '5,000 files', atMost: 1.2 }],
  setup,
  contenders: [5000, 50_000, 500_000].map((files) =>
    stintCleaner(`${files.toLocaleString('en')} files`, { depth: 0, width: 0, files }),
  ),
}

export default [
  create,
  cleaning(
    'clean-5000',
    '5,000 files in one directory',
    { depth: 0, width: 0, files: count },
    {
      rounds: 12,
      targets: [floorTarget],
    },
  ),
  cleaning(
    'clean-100000',
    '100,000 files in one directory',
    { depth: 0, width: 0, files: 100_000 },
    {
      rounds: 4,
      targets: [floorTarget],
    },
  ),
  cleaning(
    'clean-tree',
    'a tree of depth 6 and width 4, 4 files in each directory',
    { depth: 6, width: 4, files: 4 },
    {
      rounds: 6,
      targets: [floorTarget, { against: 'fs.rmSync', faster: 1.4 }],
    },
  ),
  growth,
]
