import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { askGit } from '../base/process/ask-git.ts'
import { displayHostname, thisMachine } from '../base/process/platform.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { pathOfFileUrl, repositoryName } from './remote-url.ts'

/** What a workspace is, seen from any machine. */
export interface Repository {
  key: string
  /** As people know it. */
  name: string
}

const known = new Map<string, Repository>()

/**
 * The repository that a workspace is a clone of, by its remote `origin` (else the first): two clones on two machines are the same. Without a
 * remote, and for a directory without git, it is that directory of this machine. Asked once a process: what was claimed is released under
 * the same name.
 */
export function repositoryOf(workspace: string): Repository {
  const repository = known.get(workspace) ?? findRepository(workspace)
  known.set(workspace, repository)
  return repository
}

function findRepository(workspace: string): Repository {
  const url = existsSync(join(workspace, '.git')) ? chooseRemote(remotesOf(workspace)) : undefined
  if (url === undefined) return ofThisMachine('dir', workspace)
  const name = repositoryName(url)
  return name === undefined ? ofThisMachine('git', localPath(workspace, url)) : { key: `git:${name}`, name }
}

const ofThisMachine = (kind: string, path: string): Repository => {
  const host = thisMachine().host || displayHostname()
  return { key: `${kind}:${host}:${path}`, name: path }
}

/** `origin`, else the first by name, of what `git remote -v` says. */
export function chooseRemote(listing: string): string | undefined {
  const remotes = listing.split('\n').flatMap((line) => {
    const [, name, url] = /^([^\t]+)\t(.*) \(fetch\)/.exec(line) ?? []
    return name === undefined || url === undefined ? [] : [{ name, url }]
  })
  const origin = remotes.find(({ name }) => name === 'origin')
  return (origin ?? remotes.sort((a, b) => (a.name < b.name ? -1 : 1))[0])?.url
}

/** Git itself is asked, since users rewrite URLs in their settings (`insteadOf`). */
function remotesOf(workspace: string): string {
  const hint = 'Name what you claim with --resource NAME instead, or let git work here.'
  let answer: ReturnType<typeof askGit>
  try {
    answer = askGit(workspace, 'remote', '-v')
  } catch (error) {
    if (!(error instanceof StintError) || error.code !== 'COMMAND_NOT_FOUND') throw error
    const message = `git was not found, so nobody can say what ${workspace} is a clone of`
    throw new StintError('NOT_FOUND', message, { hint, cause: error })
  }
  if ('text' in answer) return answer.text
  const message = `git cannot say what ${workspace} is a clone of: ${answer.refusal}`
  throw new StintError('PERMISSION_DENIED', message, { hint })
}

/** A remote in a directory of this machine: its real path, as another clone would find it. */
function localPath(workspace: string, url: string): string {
  const path = resolve(workspace, /^file:\/\//i.test(url) ? pathOfFileUrl(url) : url)
  const found = [path, `${path}.git`].find((each) => existsSync(each))
  return (found === undefined ? path : realpathSync.native(found))
    .replace(/(?<=.)\.git$/, '')
    .replace(/\/$/, '')
}
