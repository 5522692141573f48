import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { intervalOption, readInterval } from '../interval.ts'
import { gatherStatus, type StatusData } from './gather.ts'
import { renderStatus } from './render.ts'

export const statusCommand = defineBareCommand({
  name: 'status',
  summary:
    'Shows who holds which workspace, runs, sessions, disk space and hooks, and what to do about problems.',
  options: {
    watch: { type: 'boolean', help: 'keep it up to date; in a pipe, print a block for each change' },
    ...intervalOption,
  },
  examples: [
    ['stint status', 'one screen'],
    ['stint status --watch', 'kept up to date, until Ctrl-C'],
    ['stint status --json', 'for scripts'],
    ['stint status --watch --json', 'one JSON object for each change'],
  ],
  stream: ({ options }) => options.watch,
  async run(context, { options }): Promise<StatusData | undefined> {
    const intervalMs = readInterval(options.interval)
    if (!options.watch) {
      if (options.interval !== undefined) throw new StintError('ARG_ERROR', '--interval goes with --watch')
      return gatherStatus()
    }
    const { watchStatus } = await import('./watch.ts')
    await watchStatus(context, intervalMs)
    return undefined
  },
  render(data, screen) {
    if (data === undefined) return ''
    const { body, todo } = renderStatus(data, screen)
    return [...body, ...todo].join('\n')
  },
})
