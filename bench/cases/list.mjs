import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { newest, readManifests } from '../list-kinds.mjs'
import { run } from '../processes.mjs'

const count = 10_000

let made

/** Shared by all of these benches. */
const setup = (parts) => (made ??= make(parts))

/** Creates one session with the store and copies it: a durable session costs several syncs. */
async function make({ place, stint }) {
  const home = join(place.base, 'home')
  const library = await import(stint.library)
  const store = library.filesystemStore({ home })
  const session = await store.create({
    tool: 'bench',
    title: 'A session like many others',
    workspace: '/home/user/project',
  })
  for (let i = 0; i < 20; i++) await session.append({ type: 'message', data: { text: 'x'.repeat(200) } })
  await session.turn()
  await session.close()
  const sessions = join(home, 'sessions')
  const files = contentsOf(join(sessions, session.id))
  for (let i = 1; i < count; i++) {
    const id = library.newSessionId()
    mkdirSync(join(sessions, id))
    for (const { name, text, link } of files) {
      const path = join(sessions, id, name)
      if (link !== undefined) symlinkSync(link, path)
      else if (text === undefined) mkdirSync(path)
      else writeFileSync(path, name === 'manifest.json' ? text.replaceAll(session.id, id) : text)
    }
    // Each was used ten minutes before the last one.
    writeFileSync(join(sessions, '.recent', `${id}@${Date.now() - i * 600_000}`), '')
  }
  execFileSync('sync')
  return { home, store, stint, place }
}

/** Lists directories before their entries. */
const contentsOf = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const name = relative(directory, path)
      if (entry.isSymbolicLink()) return { name, link: readlinkSync(path) }
      return entry.isDirectory() ? { name } : { name, text: readFileSync(path, 'utf8') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))

const isRight = async ({ store }) => {
  assert.equal((await store.list()).length, count)
  const listed = await store.list({ newest })
  assert.equal(listed.length, newest)
  assert(listed.every(({ state, records }) => state === 'closed' && records === 21))
}
const readsAll = ({ home }) => assert(readManifests(home) > count * 300)

/** The program measures itself: its start does not count. */
const inProcess =
  (kind) =>
  ({ home, stint, place }) => {
    const command = [
      process.execPath,
      join(import.meta.dirname, '../list-kinds.mjs'),
      kind,
      home,
      stint.library,
    ]
    return Number(run(command, place, ['ignore', 'pipe', 'inherit']).stdout)
  }

const cold = (kind) => (state) => {
  // Drops all clean pages from memory. The program is loaded again before it is measured.
  writeFileSync('/proc/sys/vm/drop_caches', '3')
  run([process.execPath, '-e', `import(${JSON.stringify(state.stint.library)})`], state.place)
  return inProcess(kind)(state)
}

const isRoot = process.geteuid?.() === 0
const contenders = (how, names = ['stint', 'manifests']) => [
  { name: 'stint', check: isRight, run: how(names[0]) },
  { name: 'readFileSync of each manifest', floor: true, check: readsAll, run: how(names[1]) },
]

const timed = {
  async stint({ store }) {
    const start = process.hrtime.bigint()
    await store.list({ newest })
    return Number(process.hrtime.bigint() - start)
  },
  manifests({ home }) {
    const start = process.hrtime.bigint()
    readManifests(home)
    return Number(process.hrtime.bigint() - start)
  },
}

const about = `the newest ${newest} of ${count.toLocaleString('en')} sessions`
const shared = { unit: 'ms', subject: 'stint', setup }
const against = 'readFileSync of each manifest'

export default [
  {
    ...shared,
    name: 'list',
    about,
    rounds: 15,
    targets: [{ against, faster: 5 }],
    contenders: contenders((kind) => timed[kind]),
  },
  {
    ...shared,
    name: 'list-start',
    about: `${about}, as the first call of a process`,
    rounds: 10,
    targets: [],
    contenders: contenders(inProcess),
  },
  ...(isRoot
    ? [
        {
          ...shared,
          name: 'list-cold',
          about: `${about}, with nothing cached in memory`,
          rounds: 5,
          targets: [{ against, faster: 5 }],
          contenders: contenders(cold),
        },
      ]
    : []),
]
