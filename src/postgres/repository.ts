import { existsSync, realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { StintError } from '../base/errors/stint-error.ts'
import { askGit } from '../base/process/run-program.ts'
import { thisMachine } from '../base/process/platform.ts'

/** A workspace as every machine knows it. */
export interface Repository {
  key: string
  /** For people to read. */
  name: string
}

const known = new Map<string, Repository>()

/**
 * The repository that a workspace is a clone of, by its remote `origin`, else the first by name: clones on
 * two machines have the same one. Without a remote, and without git, it is the directory on this machine.
 * Looked up once a process, so that a claim is released under the name that it was taken under.
 */
export function repositoryOf(workspace: string): Repository {
  const repository = known.get(workspace) ?? findRepository(workspace)
  known.set(workspace, repository)
  return repository
}

function findRepository(workspace: string): Repository {
  const url = existsSync(join(workspace, '.git')) ? chooseRemote(listRemotes(workspace)) : undefined
  if (url === undefined) return onThisMachine('dir', workspace)
  const name = repositoryName(url)
  return name === undefined ? onThisMachine('git', localPath(workspace, url)) : { key: `git:${name}`, name }
}

const onThisMachine = (kind: string, path: string): Repository => {
  const host = thisMachine().host || hostname()
  return { key: `${kind}:${host}:${path}`, name: path }
}

/** The URL of `origin`, else of the first remote by name, in the output of `git remote -v`. */
export function chooseRemote(listing: string): string | undefined {
  const remotes = listing.split('\n').flatMap((line) => {
    const [, name, url] = /^([^\t]+)\t(.*) \(fetch\)/.exec(line) ?? []
    return name === undefined || url === undefined ? [] : [{ name, url }]
  })
  const origin = remotes.find(({ name }) => name === 'origin')
  return (origin ?? remotes.sort((a, b) => (a.name < b.name ? -1 : 1))[0])?.url
}

/** Asks git rather than reading its files, because a user's settings can rewrite URLs (`insteadOf`). */
function listRemotes(workspace: string): string {
  const hint = 'Name what you claim with --resource NAME instead, or let git work here.'
  let answer: ReturnType<typeof askGit>
  try {
    answer = askGit(workspace, 'remote', '-v')
  } catch (error) {
    if (!(error instanceof StintError) || error.code !== 'COMMAND_NOT_FOUND') throw error
    const message = `git was not found, so the repository of ${workspace} is unknown`
    throw new StintError('NOT_FOUND', message, { hint, cause: error })
  }
  if ('text' in answer) return answer.text
  const message = `git cannot name the repository of ${workspace}: ${answer.refusal}`
  throw new StintError('PERMISSION_DENIED', message, { hint })
}

/** The real path of a remote in a directory of this machine, so that every clone of it gets the same name. */
function localPath(workspace: string, url: string): string {
  const path = resolve(workspace, /^file:\/\//i.test(url) ? pathOfFileUrl(url) : url)
  const found = [path, `${path}.git`].find((each) => existsSync(each))
  return (found === undefined ? path : realpathSync.native(found))
    .replace(/(?<=.)\.git$/, '')
    .replace(/\/$/, '')
}

/**
 * The host and path of a remote's URL, whatever the protocol: `git@host:a/b.git`, `ssh://git@host:2222/a/b`
 * and `https://token@host/a/b/` are all `host/a/b`. Undefined for a path of this machine.
 *
 * In lower case, as many servers do not tell cases apart: two repositories taken for one make a session wait,
 * but one taken for two lets two sessions edit it. Without users and tokens, as others read the register.
 */
export function repositoryName(url: string): string | undefined {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(url) ?? []
  if (scheme !== '')
    return scheme.toLowerCase() === 'file' ? undefined : nameInUrl(scheme.toLowerCase(), rest)
  const [, helper = '', address = ''] = /^([a-z0-9-]+)::(.*)$/is.exec(url) ?? []
  // The address belongs to a remote helper, which alone can read it.
  if (helper !== '') return `${helper}::${address.replace(/^([a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')}`.toLowerCase()
  return nameInScpForm(url)
}

function nameInUrl(scheme: string, rest: string): string {
  const [, authority = '', path = ''] = /^([^/?#]*)([^?#]*)/s.exec(rest) ?? []
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const [, name = '', port = ''] = /^(\[.*\]|[^:]*):?(\d*)$/.exec(host) ?? [undefined, host]
  // Two web servers on one host are different servers; ssh leads to the same repository on any port.
  const shown = scheme.startsWith('http') && port !== '' && port !== defaultPorts[scheme] ? `:${port}` : ''
  return joinName(`${name}${shown}`, path)
}

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' }

/** Reads `user@host:path`, with a colon before any slash. Undefined for a path, as with a drive letter. */
function nameInScpForm(url: string): string | undefined {
  const [, host, path = ''] = /^(?:[^/@:]+@)?(\[[^\]]+\]|[^/:[\]]+):(.+)$/s.exec(url) ?? []
  if (host === undefined || host.length === 1) return undefined
  return joinName(host.replace(/^\[([^\]:]+)(?::\d+)?\]$/, '$1'), path)
}

function joinName(host: string, path: string): string {
  const parts = decodePath(path)
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  const name = parts.join('/').replace(/\.git$/i, '')
  return `${host.replace(/\.$/, '')}/${name}`.toLowerCase()
}

/** The path in a `file://` URL, as git reads it: the part in the place of a host belongs to the path. */
function pathOfFileUrl(url: string): string {
  const path = decodePath(url.slice('file://'.length))
  return path.startsWith('/') ? path : `/${path}`
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
