import { unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { ifExists, listIfReadable, lstatIfExists, statIfExists } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, homeError, stintHome } from '../base/fs/home.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { ulid } from '../base/text/id.ts'
import { homeActivityLogs } from './activity-log.ts'
import { fileRegister, nodeFiles, type RegisterFiles, withoutLinks } from './file-register.ts'
import type { LeaseStore, WaiterEntries } from './register.ts'

/** One store for each home: its activity logs gather the lines of quick changes. */
const homeStores = new Map<string, LeaseStore>()

/** The leases of this user, in the home: claims in `locks`, waiters in `waiting`, logs in `activity`. */
export function homeStore(env: NodeJS.ProcessEnv = process.env): LeaseStore {
  const name = `${env.STINT_HOME} ${env.HOME}`
  const store = homeStores.get(name) ?? openHome(stintHome(env))
  homeStores.set(name, store)
  return store
}

const openHome = (home: string): LeaseStore => fileStore(home, homeFiles(home))

/** Leases in a directory. */
export const fileStore = (home: string, files: RegisterFiles = nodeFiles): LeaseStore => ({
  register: fileRegister(`${home}/locks`, files),
  waiters: waiterFiles(`${home}/waiting`),
  activity: homeActivityLogs(home),
  locate: (key, epoch) => `${home}/locks/${key}/${epoch}`,
})

/** Errors that the register handles pass unchanged; any other gets a code and a sentence for the user. */
function homeFiles(home: string): RegisterFiles {
  const explain = (error: unknown): unknown =>
    ['ENOENT', 'EEXIST', ...withoutLinks].includes(errorCode(error) ?? '')
      ? error
      : homeError(error, home, `use the locks in ${home}`)
  const explained =
    <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      try {
        return call(...args)
      } catch (error) {
        throw explain(error)
      }
    }
  return {
    list: explained(nodeFiles.list),
    read: explained(nodeFiles.read),
    create: explained(nodeFiles.create),
    link: explained(nodeFiles.link),
    unlink: explained(nodeFiles.unlink),
    makeDirectory: explained((path) => {
      ensureHome(home)
      ensureHomeDirectory(dirname(path))
      makePrivateDirectories(path)
    }),
    now: nodeFiles.now,
  }
}

/** One file a waiter, in a directory for each key. */
function waiterFiles(directory: string): WaiterEntries {
  return {
    async list(key) {
      return namesIn(`${directory}/${key}`).flatMap((id) => {
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

/** The names in a directory, oldest first; none without it, which costs no exception. */
const namesIn = (directory: string): string[] =>
  lstatIfExists(directory) === undefined ? [] : listIfReadable(directory).sort()
