import type { RegisterFiles } from '../../src/lease/file-register.ts'
import type { Now } from '../../src/lease/register.ts'
import type { Answer, Call } from './explorer-directory.ts'

/** Where an operation stands: at its next call, or at its end. */
export type Position<Result> = { next: Call } | { result: Result }

/**
 * Runs an operation of the shipped code up to the call after these answers: a promise cannot be copied, so
 * each position in the code is reached from the start. `beforeAnswer` is told of each answer before the code
 * goes on with it.
 */
export function replay<Result>(
  operation: (files: RegisterFiles) => Promise<Result>,
  answers: readonly Answer[],
  beforeAnswer: (index: number) => void = () => {},
): Promise<Position<Result>> {
  let asked = 0
  return new Promise((resolve, reject) => {
    const ask = (next: Call): unknown => {
      const answer = answers[asked]
      if (answer === undefined) {
        resolve({ next })
        return new Promise(() => {})
      }
      beforeAnswer(asked++)
      if ('value' in answer) return answer.value
      throw Object.assign(new Error(answer.error), { code: answer.error })
    }
    operation(filesThatAsk(ask)).then((result) => resolve({ result }), reject)
  })
}

/** Files that pass every call on. The name of a staged file is random and means nothing: all get one name. */
function filesThatAsk(ask: (call: Call) => unknown): RegisterFiles {
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/^\..*/, '.staged')
  let staged = ''
  return {
    list: (path) => ask({ call: 'list', name: nameOf(path) }) as string[],
    read: (path) => ask({ call: 'read', name: nameOf(path) }) as string | undefined,
    create(path, text) {
      staged = text
      return ask({ call: 'create', name: nameOf(path) }) as undefined
    },
    link: (_path, name) => ask({ call: 'link', name: nameOf(name), text: staged }) as undefined,
    unlink: (path) => ask({ call: 'unlink', name: nameOf(path) }) as undefined,
    makeDirectory: (path) => ask({ call: 'makeDirectory', name: nameOf(path) }) as undefined,
    now: () => ask({ call: 'now', name: '' }) as Now,
  }
}
