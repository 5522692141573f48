import { join } from 'node:path'
import { ensureHomeDirectory, homeError, stintHome } from '../base/fs/home.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { fileRegister } from './file-register.ts'
import type { FileStep } from './file-step.ts'
import type { Register } from './register.ts'

const registers = new Map<string, Register<FileStep>>()

/** The file register of this user's leases: `$STINT_HOME/locks`. One a home and process: it remembers. */
export function homeRegister(env: NodeJS.ProcessEnv = process.env): Register<FileStep> {
  const given = env.STINT_HOME || ''
  const register = registers.get(given) ?? openRegister(stintHome(env))
  registers.set(given, register)
  return register
}

function openRegister(home: string): Register<FileStep> {
  const locks = join(home, 'locks')
  const register = fileRegister(locks)
  const prepare = (step: FileStep): void => {
    if (step.call !== 'mkdir') return
    for (const path of [home, locks, step.path]) ensureHomeDirectory(path)
  }
  const explained = (error: unknown, step: FileStep): unknown => explain(error, step, home)
  return {
    ...register,
    performSync(step) {
      try {
        prepare(step)
        return register.performSync?.(step)
      } catch (error) {
        throw explained(error, step)
      }
    },
    async perform(step) {
      try {
        prepare(step)
        return await register.perform(step)
      } catch (error) {
        throw explained(error, step)
      }
    },
  }
}

/** What the protocol itself handles passes; the rest is told to a person. */
function explain(error: unknown, step: FileStep, home: string): unknown {
  const errno = errorCode(error) ?? ''
  if (['ENOENT', 'EEXIST', 'EINVAL', 'ENAMETOOLONG'].includes(errno)) return error
  if (step.call === 'symlink' && ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(errno)) {
    return new StintError('LOCK_UNSUPPORTED', `the file system of ${home} has no symbolic links: ${errno}`, {
      cause: error,
    })
  }
  return homeError(error, home, `use the locks in ${home}`)
}
