import { StintError } from '../../base/errors/stint-error.ts'
import { askYesOrNo } from './ask.ts'

/** Asks a person, unless `--yes` has answered. Without a terminal to ask on, `--yes` is needed. */
export async function confirm(yes: boolean, doing: string, question: string): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY)
    throw new StintError('ARG_ERROR', `${doing} needs --yes where there is no terminal to ask on`)
  if (await askYesOrNo(question)) return
  throw new StintError('CANCELLED', 'you answered no', { exit: 1, hint: 'Nothing was changed.' })
}
