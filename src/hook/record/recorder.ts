import { stintHome } from '../../primitives/home.ts'
import { textOf } from '../../primitives/text-of.ts'
import { secretsFromEnvironment } from '../../secrets/environment.ts'
import { filesystemStore } from '../../store/filesystem/store.ts'
import { noteWarning } from '../hook-log.ts'
import { take, type Waiting, waitingIn } from './queue.ts'

/** Writes what waits into the sessions it belongs to; a session that does not exist yet is made. */
export async function drainQueue(env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const home = stintHome(env)
  const store = filesystemStore({ home })
  const secrets = secretsFromEnvironment(env).map((ref) => ({ ref, value: env[ref.name] ?? '' }))
  let written = 0
  for (const name of waitingIn(home)) {
    const taken = take(home, name, Date.now())
    if (taken === undefined) continue
    const { session, event, audit, tool, workspace }: Waiting = taken.waiting
    try {
      await store.visit(
        session,
        async (visit) => {
          await visit.audit(audit)
          await visit.append(event)
        },
        { create: { tool, ...(workspace === undefined ? {} : { workspace }) }, secrets },
      )
      taken.done()
      written += 1
    } catch (error) {
      noteWarning({ agent: tool, event: event.type, session, warning: textOf(error) }, env)
    }
  }
  return written
}
