import { defineBareCommand } from '../../command/define-command.ts'
import { intervalOption, readInterval } from '../interval.ts'
import { showWork } from '../terminal/progress.ts'
import { watchScreen } from '../terminal/watch-screen.ts'
import { gatherStats, renderStats } from './stats.ts'

export const tempWatchCommand = defineBareCommand({
  name: 'watch',
  summary: 'Shows what `stint temp stats` shows, kept up to date until it is stopped.',
  options: intervalOption,
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint temp watch', 'every two seconds'],
    ['stint temp watch --interval 10s --json >temp.jsonl', 'one JSON object a line'],
  ],
  run: (context, { options }) =>
    watchScreen(context, readInterval(options.interval), {
      called: 'stint temp watch',
      look: () => showWork('measuring', context, gatherStats),
      render: (data, screen) => ({ body: renderStats(data, screen) }),
      // Where it cannot redraw, it prints every look, whether something has changed or not.
      stableFields: ({ at }) => at,
    }),
})
