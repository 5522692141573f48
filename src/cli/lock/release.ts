import { defineBareCommand } from '../../command/define-command.ts'
import { needSession, openClaims, holderOption, targetOptions } from './lock-options.ts'

export const lockReleaseCommand = defineBareCommand({
  name: 'release',
  summary: "Gives up a session's claim. Never touches the claim of another session.",
  options: {
    ...targetOptions,
    ...holderOption,
    path: { type: 'strings', value: 'P', help: 'give up only this path, relative to DIR; may be repeated' },
  },
  examples: [['stint lock release --session mine', 'says released: false if there was nothing to release']],
  async run({ warn }, { options }) {
    const sessionId = needSession(options.session)
    const claims = await openClaims(options, warn)
    const paths = options.path.length === 0 ? undefined : claims.pathsOf(options.path, options.workspace)
    const { released } = await claims.release({ sessionId, paths })
    await claims.activity.written()
    return { released }
  },
  render: ({ released }) => (released ? 'released' : 'there was nothing to release'),
})
