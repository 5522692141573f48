import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { createPrivateFile, makePrivateDirectory } from '../../base/fs/private-file.ts'
import { errorCode, errorMessage } from '../../base/errors/stint-error.ts'

/** What stint asks of a file system. */
export type Ability = 'create' | 'modes' | 'rename' | 'symlink' | 'link' | 'sync'

/** What went wrong with each; what is not there has worked. */
export type FileTrial = Partial<Record<Ability, string>>

/** Tries each in an empty directory, for real: what a file system is called says little about what it does. */
export function tryFiles(directory: string): FileTrial {
  const at = (name: string): string => join(directory, name)
  const tries: Readonly<Record<Ability, () => string | undefined>> = {
    create() {
      createPrivateFile(at('file'), 'one')
      return refuses(() => createPrivateFile(at('file'), 'two')) ?? holds(at('file'), 'one')
    },
    modes() {
      makePrivateDirectory(at('directory'))
      const [file, inner] = [at('file'), at('directory')].map((path) => lstatSync(path).mode & 0o777)
      if (file === 0o600 && inner === 0o700) return undefined
      return `a private file has mode ${file?.toString(8)}, a private directory ${inner?.toString(8)}`
    },
    rename() {
      createPrivateFile(at('next'), 'next')
      renameSync(at('next'), at('file'))
      mkdirSync(at('directory/full'), { recursive: true })
      renameSync(at('directory'), at('moved'))
      return holds(at('file'), 'next')
    },
    symlink() {
      // As long as a claim is.
      const target = JSON.stringify({ text: 'ä "'.repeat(250) })
      symlinkSync(target, at('link'))
      const again = refuses(() => symlinkSync('other', at('link')))
      return (
        again ?? (readlinkSync(at('link')) === target ? undefined : 'a link reads otherwise than it was made')
      )
    },
    link() {
      linkSync(at('file'), at('second'))
      const again = refuses(() => linkSync(at('file'), at('second')))
      return again ?? (statSync(at('file')).nlink === 2 ? undefined : 'a second name is not counted')
    },
    sync() {
      for (const path of [at('file'), directory]) {
        const fd = openSync(path, 'r')
        try {
          fsyncSync(fd)
        } finally {
          closeSync(fd)
        }
      }
      return undefined
    },
  }
  const problems = Object.entries(tries).map(([name, attempt]) => [name, problemOf(attempt)] as const)
  return Object.fromEntries(problems.filter(([, problem]) => problem !== undefined))
}

function problemOf(attempt: () => string | undefined): string | undefined {
  try {
    return attempt()
  } catch (error) {
    return errorCode(error) ?? errorMessage(error)
  }
}

/** One name, one winner: whoever comes second must be told. */
function refuses(act: () => void): string | undefined {
  try {
    act()
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return undefined
    throw error
  }
  return 'the same name can be taken twice'
}

const holds = (path: string, text: string): string | undefined =>
  readFileSync(path, 'utf8') === text ? undefined : 'a file holds what was not written to it'
