import { spawn } from 'node:child_process'
import { readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { ensureHome, ensureHomeDirectory } from '../../base/fs/home.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { createPrivateFile } from '../../base/fs/private-file.ts'
import { ulid } from '../../base/text/id.ts'
import { uiDirectory } from '../server/socket.ts'

/** The program that opens a file with the user's browser; undefined if this machine shows no windows. */
export function browserOpener(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): readonly string[] | undefined {
  // A list of command lines, in which %s stands for the address.
  const [chosen = ''] = (env.BROWSER ?? '').split(':')
  const words = chosen.split(' ').filter((word) => word !== '' && word !== '%s')
  if (words.length > 0) return words
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['explorer.exe']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

const openerFile = /^open-[0-9A-Z]{26}\.html$/

/** Removes the file whose token a page has used, or without a token all files that open a page. */
export function removeOpeners(home: string, token = ''): void {
  const directory = uiDirectory(home)
  for (const name of ifPossible(() => readdirSync(directory)) ?? []) {
    const path = join(directory, name)
    if (openerFile.test(name) && readSmallFile(path)?.includes(`#token=${token}`))
      ifPossible(() => unlinkSync(path))
  }
}

/**
 * Opens the page in the browser. Other users can read the arguments of a process, and so the token in an
 * address: the browser is given a file that only this user can read, and that leads to the address. Resolves
 * when the program has started or ended; false if it could not be started.
 */
export async function openPage(home: string, address: string, opener: readonly string[]): Promise<boolean> {
  const [program = '', ...args] = opener
  ensureHome(home)
  ensureHomeDirectory(uiDirectory(home))
  const file = join(uiDirectory(home), `open-${ulid(Date.now())}.html`)
  createPrivateFile(
    file,
    `<!doctype html><meta charset="utf-8"><title>stint</title><meta http-equiv="refresh" content="0;url=${address}">\n`,
  )
  const child = spawn(program, [...args, file], { stdio: 'ignore', detached: true })
  child.unref()
  return await new Promise((resolve) => {
    child.once('spawn', () => resolve(true))
    child.once('error', () => resolve(false))
  })
}
