import { spawn } from 'node:child_process'
import { readdirSync, realpathSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { createPrivateFile } from '../../base/fs/private-file.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { systemClock } from '../../base/process/clock.ts'
import { visibleJson } from '../../base/text/escape.ts'
import { ulid } from '../../base/text/id.ts'
import { openServerLeases, openStore, storeOption } from '../../cli/store.ts'
import { print } from '../../cli/terminal/print.ts'
import type { BareContext } from '../../command/context.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { uiEndpoints } from '../server/endpoints.ts'
import { UiServer } from '../server/server.ts'
import { askRunningServer, type PublishedSocket, publishSocket, uiDirectory } from '../server/socket.ts'

export const uiCommand = defineBareCommand({
  name: 'ui',
  summary:
    'Serves a page on this machine that shows who does what: sessions, claims, refusals. It runs until Ctrl-C; a second one opens the page of the first.',
  options: {
    'no-open': { type: 'boolean', help: 'only print the address; do not open the browser' },
    port: { type: 'count', value: 'N', help: 'listen on this port (any free one)' },
    'read-only': { type: 'boolean', help: 'without the actions: break, unlock, trash, undo' },
    ...storeOption,
  },
  stream: true,
  envelope: 'on-request',
  examples: [
    ['stint ui', 'opens the page in your browser'],
    ['stint ui --no-open --read-only', 'prints the address; the page changes nothing'],
    ['stint ui --no-open --json > ui.json &', 'for a script: jq -r .data.url ui.json'],
  ],
  async run(context, { options }) {
    const startedAt = systemClock.mono()
    const home = stintHome()
    const { port, 'read-only': readOnly, 'no-open': noOpen } = options
    if (port !== undefined && (port < 1 || port > 65_535))
      throw new StintError('ARG_ERROR', '--port must be from 1 to 65535')
    const running = await askRunningServer(home)
    if (running !== undefined) {
      if (port !== undefined || readOnly || options.store !== undefined)
        context.warn('another `stint ui` runs with options of its own: this is its page')
      await show(context, { home, url: running, noOpen, startedAt, isFirst: false })
      return
    }
    // Every command that the server calls finds the store there.
    if (options.store !== undefined) process.env.STINT_STORE = options.store
    const server = await UiServer.listen({
      port,
      page: join(dirname(realpathSync.native(process.argv[1] ?? '')), '../ui/page'),
      endpoints: uiEndpoints({
        leases: await openServerLeases(options.store, context.warn),
        store: await openStore(options.store, context.warn),
        readOnly,
      }),
      readOnly,
      onToken: (token) => removeOpeners(home, token),
    })
    if (port !== undefined)
      context.warn('a page that another program served on this port may have left a worker in your browser')
    removeOpeners(home)
    const socket = await publish(home, server, context)
    if (socket === 'taken') {
      // Another one was started at the same moment, and was first.
      server.close()
      const url = await askRunningServer(home)
      if (url !== undefined) return await show(context, { home, url, noOpen, startedAt, isFirst: false })
      throw new StintError('UNEXPECTED', 'another `stint ui` was started and ended at the same moment', {
        hint: 'Try again.',
      })
    }
    // However the process ends: the next server must not find the socket of this one.
    process.once('exit', () => {
      socket?.[Symbol.dispose]()
      removeOpeners(home)
    })
    await show(context, { home, url: server.address(), noOpen, startedAt, isFirst: true, server })
    await new Promise<void>((resolve) => context.signal.addEventListener('abort', () => resolve()))
    server.close()
  },
})

/** Without the socket, on a full disk for example, the page works all the same. */
async function publish(
  home: string,
  server: UiServer,
  { warn }: Pick<BareContext, 'warn'>,
): Promise<PublishedSocket | 'taken' | undefined> {
  try {
    return (await publishSocket(home, (path) => server.listenAt(path))) ?? 'taken'
  } catch (error) {
    warn(`there is no socket for scripts, nor for another \`stint ui\`: ${errorMessage(error)}`)
    return undefined
  }
}

interface Shown {
  home: string
  url: string
  noOpen: boolean
  startedAt: number
  isFirst: boolean
  server?: UiServer
}

/** Prints the address, and opens it. The browser gets a token of its own. */
async function show(
  { json, quiet, requestId, warn }: BareContext,
  { home, url, noOpen, startedAt, isFirst, server }: Shown,
): Promise<void> {
  const opener = noOpen ? undefined : browserOpener(process.env)
  if (json) {
    const duration_ms = Math.round(systemClock.mono() - startedAt)
    const meta = { duration_ms, request_id: requestId, session_tmp_dir: null }
    const data = { url, socket: join(home, 'ui', 'socket'), first: isFirst }
    print(`${visibleJson({ ok: true, data, error: null, warnings: [], meta })}\n`)
  } else if (!quiet) {
    const note = isFirst ? 'Ctrl-C ends it' : 'it runs already'
    print(`${url}\n${opener === undefined ? 'Open this address once' : 'Opening your browser'}; ${note}.\n`)
  }
  if (opener === undefined) return
  try {
    const address = server?.address() ?? (await askRunningServer(home)) ?? url
    if (!(await openPage(home, address, opener))) warn(`${opener[0]} could not be started: open the address`)
  } catch (error) {
    warn(`the browser cannot be opened (${errorMessage(error)}): open the address`)
  }
}

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
