import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'vitest'
import { StintSaver } from '../../src/frameworks/langgraph.ts'
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
  const tell = await startWriters(world, 'stint', home)
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

/**
 * The same with LangGraph's own SQLite saver. Returns how many puts were refused, and how many checkpoints
 * have another beside them that continues the same one.
 */
export async function twoSqliteWriters(rounds: number): Promise<{ refused: number; forked: number }> {
  await using world = new World()
  const tell = await startWriters(world, 'sqlite', join(world.tmp, 'checkpoints.db'))
  let refused = 0
  for (let round = 0; round < rounds; round++) {
    await tell('read')
    refused += (await tell('put')).filter(({ error }) => error !== undefined).length
  }
  const [parents] = await tell('parents')
  await tell('leave')
  const all = JSON.parse(parents?.answer ?? '[]') as (string | null)[]
  return { refused, forked: all.length - new Set(all).size }
}

/** Starts the two processes. The function sends both an order, and returns what they answer. */
async function startWriters(
  world: World,
  kind: 'stint' | 'sqlite',
  path: string,
): Promise<(order: string) => Promise<Answer[]>> {
  const program = join(projectRoot, 'test/fixtures/langgraph-writer.mjs')
  const writers = [1, 2].map(() =>
    world.start(process.execPath, [program, path, kind], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }),
  )
  const hear = ({ child }: (typeof writers)[number]) =>
    once(child, 'message').then(([said]) => said as Answer)
  await Promise.all(writers.map(hear))
  return (order) =>
    Promise.all(
      writers.map((writer) => {
        writer.child.send(order)
        return hear(writer)
      }),
    )
}
