import { spawn } from 'node:child_process'
import { readdirSync, realpathSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { createPrivateFile } from '../../base/fs/private-file.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { visibleJson } from '../../base/text/escape.ts'
import { ulid } from '../../base/text/id.ts'
import { openServerLeases, openStore, storeOption } from '../../cli/store.ts'
import { print } from '../../cli/terminal/print.ts'
import type { BareContext } from '../../command/context.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { uiEndpoints } from '../server/endpoints.ts'
import { UiServer } from '../server/server.ts'
import { askRunningServer, publishSocket, uiDirectory, uiSocket } from '../server/socket.ts'

export const uiCommand = defineBareCommand({
  name: 'ui',
  summary:
    'Serves a page on this machine that shows who does what: sessions, claims, refusals. It runs until Ctrl-C; a second one opens the page of the first.',
  options: {
    'no-open': { type: 'boolean', help: 'only print the address; do not open the browser' },
    port: { type: 'count', value: 'N', help: 'listen on this port (any free one)' },
    ...storeOption,
  },
  stream: true,
  envelope: 'on-request',
  examples: [
    ['stint ui', 'opens the page in your browser'],
    ['stint ui --no-open --json > ui.json &', 'for a script: jq -r .data.url ui.json'],
  ],
  run: (context, { options }) => serve(context, options),
})

interface UiChoices {
  port?: number
  store?: string
  'no-open': boolean
}

/** Serves the page until the command is ended, or opens that of a server that runs. */
async function serve(context: BareContext, options: UiChoices): Promise<void> {
  const { port, store } = options
  const home = stintHome()
  if (port !== undefined && (port < 1 || port > 65_535))
    throw new StintError('ARG_ERROR', '--port must be from 1 to 65535')
  const running = await askRunningServer(home)
  if (running !== undefined) {
    if (port !== undefined || store !== undefined)
      context.warn('another `stint ui` runs with options of its own: this is its page')
    const newAddress = async (): Promise<string> => (await askRunningServer(home)) ?? running
    return await show(context, options, { url: running, newAddress, isFirst: false })
  }
  // Every command that the server calls finds the store there.
  if (store !== undefined) process.env.STINT_STORE = store
  const server = await UiServer.listen({
    port,
    page: join(dirname(realpathSync.native(process.argv[1] ?? '')), '../ui/page'),
    endpoints: uiEndpoints({
      leases: await openServerLeases(store, context.warn),
      store: await openStore(store, context.warn),
    }),
    onToken: (token) => removeOpeners(home, token),
  })
  const socket = await publish(home, server, context)
  if (socket === 'taken') {
    // Another one was started at the same moment, and was first: it runs now.
    server.close()
    return await serve(context, options)
  }
  if (port !== undefined)
    context.warn('a page that another program served on this port may have left a worker in your browser')
  removeOpeners(home)
  // However the process ends: the next server must not find the socket of this one.
  process.once('exit', () => {
    socket?.[Symbol.dispose]()
    removeOpeners(home)
  })
  const newAddress = () => Promise.resolve(server.address())
  await show(context, options, { url: server.address(), newAddress, isFirst: true })
  await new Promise<void>((resolve) => context.signal.addEventListener('abort', () => resolve()))
  server.close()
}

/** Without the socket, on a full disk or in a very long path, the page works all the same. */
async function publish(
  home: string,
  server: UiServer,
  { warn }: Pick<BareContext, 'warn'>,
): Promise<Disposable | 'taken' | undefined> {
  try {
    return (await publishSocket(home, (path) => server.listenAt(path))) ?? 'taken'
  } catch (error) {
    warn(`there is no socket for scripts, nor for another \`stint ui\`: ${errorMessage(error)}`)
    return undefined
  }
}

/** Prints the address, and opens the page in the browser, which gets an address of its own. */
async function show(
  { json, quiet, requestId, warn }: BareContext,
  { 'no-open': noOpen }: UiChoices,
  { url, newAddress, isFirst }: { url: string; newAddress: () => Promise<string>; isFirst: boolean },
): Promise<void> {
  const home = stintHome()
  const opener = noOpen ? undefined : browserOpener(process.env)
  if (json) {
    const duration_ms = Math.round(process.uptime() * 1000)
    const meta = { duration_ms, request_id: requestId, session_tmp_dir: null }
    const data = { url, socket: uiSocket(home), first: isFirst }
    print(`${visibleJson({ ok: true, data, error: null, warnings: [], meta })}\n`)
  } else if (!quiet) {
    const note = isFirst ? 'Ctrl-C ends it' : 'it runs already'
    print(`${url}\n${opener === undefined ? 'Open this address once' : 'Opening your browser'}; ${note}.\n`)
  }
  if (opener === undefined) return
  try {
    const isStarted = await openPage(home, await newAddress(), opener)
    if (!isStarted) warn(`${opener[0]} could not be started: open the address`)
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
