import { linkSync, readdirSync, readFileSync, unlinkSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Later } from '../base/fs/disk.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { ifExists, listIfReadable, lstatIfExists, statIfExists } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, homeError, homeUnsafe, stintHome } from '../base/fs/home.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { monotonicIsShared, systemClock } from '../base/process/clock.ts'
import { thisMachine } from '../base/process/platform.ts'
import { ulid } from '../base/text/id.ts'
import { homeActivityLogs } from './activity-log.ts'
import type { LeaseStore, Now, Register, WaiterEntries } from './register.ts'

/** One store for each home: its activity logs gather the lines of quick changes. */
const homeStores = new Map<string, LeaseStore>()

/** The leases of this user, in the home. */
export function homeStore(env: NodeJS.ProcessEnv = process.env): LeaseStore {
  const name = `${env.STINT_HOME} ${env.HOME}`
  const store = homeStores.get(name) ?? openHome(stintHome(env))
  homeStores.set(name, store)
  return store
}

function openHome(home: string): LeaseStore {
  const makeDirectory = (path: string): void => {
    ensureHome(home)
    ensureHomeDirectory(dirname(path))
    makePrivateDirectories(path)
  }
  const store = fileStore(home, { ...nodeFiles, makeDirectory })
  const { register } = store
  const explain = (error: unknown): never => {
    throw homeError(error, home, `use the locks in ${home}`)
  }
  return {
    ...store,
    register: {
      ...register,
      read: (key, known) => register.read(key, known).catch(explain),
      swap: (key, epoch, text) => register.swap(key, epoch, text).catch(explain),
      keys: () => register.keys().catch(explain),
    },
  }
}

/** Leases in a directory: claims in `locks`, waiters in `waiting`, logs in `activity`. */
export const fileStore = (home: string, files: RegisterFiles = nodeFiles): LeaseStore => ({
  register: fileRegister(`${home}/locks`, files),
  waiters: waiterFiles(`${home}/waiting`),
  activity: homeActivityLogs(home),
  locate: (key, epoch) => `${home}/locks/${key}/${epoch}`,
})

/**
 * The calls that the register makes. Node's are synchronous, so a hook pays for no thread; the explorer's
 * return promises, which it resolves in every order.
 */
export interface RegisterFiles {
  /** The names in a directory; none if it does not exist. */
  list(directory: string): Later<string[]>
  /** The text of a file; undefined if there is none. */
  read(path: string): Later<string | undefined>
  /** Creates a file; EEXIST if there is one, ENOENT without its directory. */
  create(path: string, text: string): Later
  /** Gives a file a second name; EEXIST if that is taken. */
  link(path: string, name: string): Later
  /**
   * Removes a name if it can. One that stays does no harm: the next swap tries again, and the sweep takes
   * staged files.
   */
  unlink(path: string): Later
  makeDirectory(path: string): Later
  now(): Later<Now>
}

/**
 * A register in a directory. Epoch N of a key is the file `<key>/<N>`, and the highest number counts. A swap
 * writes a staged file and links it to the next number, which fails if another writer was faster; so an epoch
 * is whole when it appears. The top epoch of a key is never removed: a writer that was suspended before its
 * link could otherwise create an epoch that counts beside a newer one.
 */
export function fileRegister(directory: string, files: RegisterFiles = nodeFiles): Register {
  const pathOf = (key: string, epoch: number): string => `${directory}/${key}/${epoch}`

  /** The epochs that a key has, the highest last. */
  async function epochsOf(key: string): Promise<number[]> {
    const names = await files.list(`${directory}/${key}`)
    return names
      .filter(isEpochName)
      .map(Number)
      .sort((a, b) => a - b)
  }

  async function read(key: string, known?: number) {
    for (;;) {
      const epoch = (await epochsOf(key)).at(-1) ?? 0
      if (epoch === 0 || epoch === known) return { epoch, text: undefined, now: await files.now() }
      const text = await files.read(pathOf(key, epoch))
      // Between the two calls, writers may have replaced and removed this epoch, and a writer that was
      // suspended may have created it again. The text counts only if the epoch is still the highest. A name
      // that stays there and has no text is a link to nothing, which no writer made.
      if ((await epochsOf(key)).at(-1) === epoch) return { epoch, text: text ?? '', now: await files.now() }
    }
  }

  async function swap(key: string, epoch: number, text: string): Promise<boolean> {
    if (!isEpochName(String(epoch + 1))) throw homeUnsafe(pathOf(key, epoch), 'has no successor')
    const staged = `${directory}/${key}/${stagedName()}`
    await createIn(files, staged, text)
    try {
      await files.link(staged, pathOf(key, epoch + 1))
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false
      throw linkError(error)
    } finally {
      await files.unlink(staged)
    }
    // A listing that fails does not take the link back: the caller reads again, and finds its text.
    const epochs = await epochsOf(key).catch(() => [])
    const top = epochs.pop()
    for (const old of epochs) await files.unlink(pathOf(key, old))
    // If a higher epoch exists, this writer was suspended before its link, and took a number that others had
    // used and removed meanwhile: its text does not count.
    return top === epoch + 1
  }

  return {
    read,
    swap,
    keys: async () => (await files.list(directory)).filter((name) => !name.startsWith('.')),
    watch(key, onChange) {
      let top = 0
      const watcher = watch(`${directory}/${key}`, { persistent: false }, (_event, name) => {
        // A swap creates an epoch and removes older ones: only the first is a change.
        const epoch = Number(name ?? top + 1)
        if (!(epoch > top)) return
        top = epoch
        onChange()
      })
      watcher.on('error', () => watcher.close())
      return () => watcher.close()
    },
  }
}

/** Names of staged files; a swap that was killed leaves one. */
const stagedPrefix = '.'

/** No other process, and no other thread of this one, stages files with this id in their names. */
let writerId: string | undefined
let stagedFiles = 0

function stagedName(): string {
  writerId ??= ulid()
  stagedFiles += 1
  return `${stagedPrefix}${writerId}-${stagedFiles}`
}

/** Whether a file of a key was staged by a swap. */
export const isStagedEpoch = (path: string): boolean => basename(path).startsWith(stagedPrefix)

async function createIn(files: RegisterFiles, path: string, text: string): Promise<void> {
  try {
    await files.create(path, text)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    await files.makeDirectory(dirname(path))
    await files.create(path, text)
  }
}

/** At most 15 digits: every such number is exact. */
const isEpochName = (name: string): boolean => /^[1-9]\d{0,14}$/.test(name)

export const nodeFiles: RegisterFiles = {
  list: (directory) => ifExists(() => readdirSync(directory)) ?? [],
  // With an encoding, Node 20 reads in one native call, which aborts the process if `close` fails.
  read: (path) => ifExists(() => readFileSync(path).toString()),
  create: createPrivateFile,
  link: linkSync,
  unlink: (path) => void ifPossible(() => unlinkSync(path)),
  makeDirectory: makePrivateDirectories,
  now: readClocks,
}

/** Without hard links there are no locks, and no permission that a user could grant changes that. */
function linkError(error: unknown): unknown {
  const { code = '', dest = '' } = error as NodeJS.ErrnoException & { dest?: string }
  if (!['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'].includes(code)) return error
  const message = `the file system of ${dirname(dest)} has no hard links: ${code}`
  return new StintError('LOCK_UNSUPPORTED', message, { cause: error })
}

/**
 * All processes of one boot share the monotonic clock of the kernel, which stands still while the machine
 * sleeps, unless they are in different time namespaces (time_namespaces(7)).
 */
function readClocks(): Now {
  const { boot, timens } = thisMachine()
  const clock = monotonicIsShared ? `${boot}/${timens}` : `process ${process.pid}`
  return { wall: systemClock.now(), mono: systemClock.mono(), clock }
}

/** One file a waiter, in a directory for each key. */
function waiterFiles(directory: string): WaiterEntries {
  return {
    async list(key) {
      // A look at the directory costs less than the exception of a listing without it.
      if (lstatIfExists(`${directory}/${key}`) === undefined) return []
      return listIfReadable(`${directory}/${key}`).flatMap((id) => {
        const path = `${directory}/${key}/${id}`
        const text = readSmallFile(path)
        // Its writer has created the file, and has not written to it yet.
        const isNew = text === '' && Date.now() - (statIfExists(path)?.mtimeMs ?? 0) < 60_000
        return text === undefined || isNew ? [] : [{ id, text }]
      })
    },
    async add(key, text) {
      const id = ulid()
      makePrivateDirectories(`${directory}/${key}`)
      createPrivateFile(`${directory}/${key}/${id}`, text)
      return id
    },
    remove: async (key, id) => ifExists(() => unlinkSync(`${directory}/${key}/${id}`)),
  }
}
