import { stintHome } from '../base/fs/home.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { visibleText } from '../base/text/escape.ts'
import { findTmp } from '../scratch/index.ts'
import type { Reply } from './reply.ts'

/** With --verbose: what a run takes from its surroundings, before it begins. */
export function explainPlaces(answer: Pick<Reply, 'note' | 'meta'>): void {
  answer.note(`run ${answer.meta.request_id}, pid ${process.pid}, node ${process.version}`)
  answer.note(`home ${pathOr(stintHome)}${origin('STINT_HOME')}`)
  answer.note(`temp directory ${pathOr(findTmp)}${origin('STINT_TMP_ROOT')}`)
}

/** A place that is wrong is told by whoever needs it. */
function pathOr(find: () => string): string {
  try {
    return visibleText(find(), 5000)
  } catch (error) {
    return `none: ${visibleText(errorMessage(error), 5000)}`
  }
}

const origin = (variable: string): string => (process.env[variable] ? ` (${variable})` : '')
