import { chmodSync, linkSync, lstatSync, type Stats, unlinkSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { ensureHome, ensureHomeDirectory, homeUnsafe } from '../../base/fs/home.ts'
import { geteuid } from '../../base/process/platform.ts'
import { isString, parseObject } from '../../base/text/fields.ts'

/** The directory of the server in the home. */
export const uiDirectory = (home: string): string => join(home, 'ui')

/** The socket of the server that runs. */
export const uiSocket = (home: string): string => join(uiDirectory(home), 'socket')

/** A server that does not answer for this long is stopped or stuck, in milliseconds. */
const patienceMs = 5000

/** The stat of the socket; undefined if there is none. Throws unless it is a socket of this user. */
function statSocket(path: string): Stats | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  if (!stat.isSocket()) throw homeUnsafe(path, 'is not a socket')
  if (stat.uid !== geteuid()) throw homeUnsafe(path, `belongs to user ${stat.uid}`)
  return stat
}

/** Removes a socket, but not one that another server has put there since. */
function removeSocket(path: string, seen: Stats): void {
  const now = lstatSync(path, { throwIfNoEntry: false })
  if (now?.ino === seen.ino && now.mtimeMs === seen.mtimeMs) ifPossible(() => unlinkSync(path))
}

/**
 * Asks the server that runs for a new address of the page; undefined if none runs. Removes the socket of one
 * that was killed.
 */
export async function askRunningServer(home: string): Promise<string | undefined> {
  const path = uiSocket(home)
  const stat = ifPossible(() => lstatSync(dirname(path))) && statSocket(path)
  if (stat === undefined) return undefined
  try {
    return await requestAddress(path)
  } catch (error) {
    if (!['ECONNREFUSED', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
    removeSocket(path, stat)
    return undefined
  }
}

function requestAddress(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const options = { socketPath, path: '/api/token', method: 'POST', headers, timeout: patienceMs }
    const asked = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => {
        const url = parseObject(text)?.url
        if (isString(url) && /^http:\/\/127\.0\.0\.1:\d{1,5}\/#token=[\w-]+$/.test(url)) resolve(url)
        else reject(new StintError('UNEXPECTED', `the server at ${socketPath} gave no address`))
      })
    })
    asked.on('timeout', () => {
      const hint = `End it, or remove ${socketPath}; then try again.`
      asked.destroy(new StintError('TIMEOUT', 'another `stint ui` runs, and does not answer', { hint }))
    })
    asked.on('error', reject)
    asked.end('{}')
  })
}

/**
 * Has a server listen on the socket in the home; undefined if another server listens there. `listenAt` gets
 * a path of its own, which becomes the name of the socket only if that is free. Disposing removes the socket.
 */
export async function publishSocket(
  home: string,
  listenAt: (path: string) => Promise<void>,
): Promise<Disposable | undefined> {
  const path = uiSocket(home)
  ensureHome(home)
  ensureHomeDirectory(uiDirectory(home))
  chmodSync(uiDirectory(home), 0o700)
  const ownPath = `${path}.${process.pid}`
  ifPossible(() => unlinkSync(ownPath))
  await listenAt(ownPath)
  chmodSync(ownPath, 0o600)
  try {
    linkSync(ownPath, path)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return undefined
    throw error
  } finally {
    unlinkSync(ownPath)
  }
  const stat = lstatSync(path)
  return { [Symbol.dispose]: () => removeSocket(path, stat) }
}
