import { defineBareCommand } from '../../command/define-command.ts'
import { visibleText } from '../../base/text/escape.ts'
import { print } from '../terminal/print.ts'
import { maxLineChars } from '../text/format.ts'
import { openClaims, targetOptions } from './lock-options.ts'
import { type ClaimDescription, describeClaim } from './describe.ts'

/** How often to look where nothing tells of a change: a claim can end by time or death alone. */
const lookEveryMs = 500

export const lockWatchCommand = defineBareCommand({
  name: 'watch',
  summary: 'Prints a line for each change of the claims on this workspace, until it is stopped.',
  options: targetOptions,
  envelope: 'on-request',
  examples: [
    ['stint lock watch', 'who comes and goes'],
    ['stint lock watch --json', 'one JSON object a line'],
  ],
  stream: true,
  async run({ signal, json, warn }, { options }) {
    const claims = await openClaims(options, warn)
    const hints = new Hints()
    let stopWatching: (() => void) | undefined
    let last = ''
    while (!signal.aborted) {
      hints.begin()
      // There is nothing to watch before the first claim was made.
      stopWatching ??= claims.watch(() => hints.hear())
      const { epoch, record, observation } = await claims.read()
      const described = record.claims.map((claim) => describeClaim(claim, observation))
      const line = json ? JSON.stringify({ epoch, claims: described.map(lasting) }) : renderLine(described)
      if (line !== last && !print(`${line}\n`)) break
      last = line
      await hints.next()
    }
    stopWatching?.()
  },
})

/** When to look again: at a hint that came since the last look began, or after a while. */
class Hints {
  #came = false
  #wake: () => void = () => {}

  /** Before a look: what comes from here on, it may have missed. */
  begin(): void {
    this.#came = false
  }

  hear(): void {
    this.#came = true
    this.#wake()
  }

  async next(): Promise<void> {
    if (this.#came) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookEveryMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

const renderLine = (claims: ClaimDescription[]): string =>
  visibleText(claims.map(renderShort).join('; '), maxLineChars) || 'free'

const renderShort = ({ session_id, standing, fence, purpose }: ClaimDescription): string =>
  `${session_id} ${standing} fence=${fence}${purpose === null ? '' : ` ${JSON.stringify(purpose)}`}`

/** What does not change by itself with every look. */
const lasting = ({ age_ms: _age, expires_in_ms: _rest, ...claim }: ClaimDescription) => claim
