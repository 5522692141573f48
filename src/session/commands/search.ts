import { defineBareCommand } from '../../command/define-command.ts'
import { workspacePath } from '../../lease/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleJson, visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import type { FoundEvent, SearchOptions } from '../index.ts'
import { type FoundLine, searchTranscripts } from '../../vault/index.ts'
import { formatTime, utcOption, type Zone } from '../../cli/text/format.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { printLines } from '../../cli/terminal/print.ts'
import { openProgressBar } from '../../cli/terminal/progress.ts'

export const searchCommand = defineBareCommand({
  name: 'search',
  summary:
    'Finds a text in the events of all sessions, newest first, and then in the transcripts that the vault has.',
  options: {
    regex: { type: 'boolean', help: 'TEXT is a regular expression of JavaScript' },
    type: { type: 'string', value: 'T', help: 'only events of this type' },
    since: { type: 'duration', value: 'D', help: 'only events of the last D, such as 7d' },
    workspace: {
      type: 'string',
      value: 'DIR',
      help: 'only sessions of this workspace; . is the current one',
    },
    tool: { type: 'string', value: 'NAME', help: 'only sessions of this program or agent' },
    lines: { type: 'count', short: 'n', value: 'N', help: 'stop after N events' },
    ...utcOption,
    ...storeOption,
  },
  positionals: 'TEXT',
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint sessions search "ECONNREFUSED" --since 7d', 'where was that?'],
    ['stint sessions search --regex "exit code [1-9]" --workspace . -n 5', 'the last failures here'],
    ['stint sessions search deploy --type tool_call --json | jq .session_id', 'one JSON object a line'],
  ],
  async run({ json, warn, note, say, screen, signal, quiet }, { options, positionals }) {
    const { regex, type, since, workspace, tool, lines = Number.POSITIVE_INFINITY } = options
    const pattern = patternOf(positionals, regex)
    const store = await openStore(options.store, warn)
    const progress = await openProgressBar('searching', { signal, quiet })
    const filter = {
      since,
      tool,
      workspace: workspace === undefined ? undefined : workspacePath(workspace),
      onBytes: (bytes: number) => progress?.update({ bytes }),
    }
    const matches = async function* (): AsyncGenerator<FoundEvent | FoundLine> {
      const onUnreadable: SearchOptions['onUnreadable'] = ({ id }, { message }) =>
        warn(`not searched: ${id}: ${message}`)
      yield* store.search(pattern, { type, ...filter, onUnreadable })
      // Lines of transcripts have no types.
      if (type === undefined) yield* searchTranscripts(pattern, filter)
    }
    let count = 0
    const shown = async function* (): AsyncGenerator<string> {
      if (lines === 0) return
      for await (const event of matches()) {
        progress?.clear()
        yield json
          ? visibleJson(describeFound(event))
          : wrapLines(renderFound(event, options), screen.columns)
        if (++count >= lines) return
      }
    }
    await printLines(shown(), { atOnce: true })
    progress?.clear()
    const isTerminal = Number.isFinite(screen.columns)
    if (count === 0) (isTerminal ? say : note)('nothing found')
  },
})

function patternOf([text, extra]: readonly string[], isRegex: boolean): string | RegExp {
  if (text === undefined || text === '' || extra !== undefined)
    throw new StintError('ARG_ERROR', 'give exactly one text to search for', {
      hint: 'Quote a text that has spaces: stint sessions search "out of memory"',
    })
  if (!isRegex) return text
  try {
    return new RegExp(text)
  } catch (error) {
    throw new StintError('ARG_ERROR', `not a regular expression: ${visibleText(text, 200)}`, { cause: error })
  }
}

export const describeFound = ({ session, seq, at, type, path, excerpt }: FoundEvent | FoundLine) => ({
  session_id: session.id,
  seq,
  at,
  type,
  path: path ?? null,
  excerpt,
})

/** One line an event, the id of its session first: `cut -d ' ' -f 1` has the ids. */
export function renderFound(
  { session, seq, at, type, path, excerpt }: FoundEvent | FoundLine,
  zone: Zone,
): string {
  const where = path === undefined ? '' : `${path}: `
  return visibleText(`${session.id}  ${seq}  ${formatTime(at, zone)}  ${type}  ${where}${excerpt}`)
}
