import { defineBareCommand } from '../../command/define-command.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { plural } from '../text/format.ts'
import { confirm } from '../terminal/confirm.ts'
import { storeOption } from '../store.ts'
import { openNamed } from './which-session.ts'

export const rmCommand = defineBareCommand({
  name: 'rm',
  summary: 'Moves a session to the trash. `stint sweep --scope sessions` deletes what is there for good.',
  options: {
    yes: { type: 'boolean', help: 'do not ask; an exact id is never asked about' },
    ...storeOption,
  },
  positionals: 'ID',
  examples: [['stint sessions rm mine --yes', 'until the trash is emptied it can be moved back']],
  async run({ warn }, { options, positionals }) {
    const { id, store, isExact } = await openNamed(options.store, positionals, warn)
    if (!options.yes && !isExact) {
      const { title, records, bytes } = (await store.inspect(id)).summary
      const what = `${title === undefined ? '' : `${visibleText(title)}: `}${plural(records, 'record')}, ${formatBytes(bytes)}`
      await confirm(false, 'removing a session', `${id} (${what})\nMove it to the trash?`)
    }
    // First, because this loads code, which may fail.
    const trash = (await store.driver.files?.())?.trash ?? null
    await store.remove(id)
    return { session_id: id, trash }
  },
  render: ({ session_id, trash }) =>
    trash === null
      ? `${session_id} is removed; \`stint postgres purge\` deletes it for good`
      : `${session_id} is in ${trash}`,
})
