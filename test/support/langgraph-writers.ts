import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'vitest'
import { StintSaver } from '../../src/adapters/langgraph.ts'
import { filesystemStore } from '../../src/session/index.ts'
import { allOf } from './all-of.ts'
import { projectRoot, World } from './world.ts'

interface Answer {
  answer?: string
  error?: string
}

/** Lets two processes continue one thread from the same checkpoint, at once, again and again. */
export async function twoWriters(rounds: number): Promise<void> {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const program = join(projectRoot, 'test/fixtures/langgraph-writer.mjs')
  const writers = [1, 2].map(() =>
    world.start(process.execPath, [program, home], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }),
  )
  const hear = ({ child }: (typeof writers)[number]) =>
    once(child, 'message').then(([said]) => said as Answer)
  const tell = (order: string): Promise<Answer[]> =>
    Promise.all(
      writers.map((writer) => {
        writer.child.send(order)
        return hear(writer)
      }),
    )
  await Promise.all(writers.map(hear))
  const stored: string[] = []
  for (let round = 0; round < rounds; round++) {
    const read = await tell('read')
    expect(read).toEqual([{ answer: stored.at(-1) }, { answer: stored.at(-1) }])
    const put = await tell('put')
    expect(put.flatMap(({ error }) => error ?? [])).toEqual(['CHECKPOINT_STALE'])
    stored.push(...put.flatMap(({ answer }) => answer ?? []))
  }
  await tell('leave')
  const saver = new StintSaver(filesystemStore({ home }))
  const chain = (await allOf(saver.list({ configurable: { thread_id: 'shared' } }))).map(
    ({ config, parentConfig }) => [
      config.configurable?.checkpoint_id as string,
      parentConfig?.configurable?.checkpoint_id as string | undefined,
    ],
  )
  expect(chain.toReversed()).toEqual(stored.map((id, index) => [id, stored[index - 1]]))
}
