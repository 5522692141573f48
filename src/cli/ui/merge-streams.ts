/** Yields the items of several streams as they come, until one of them ends or fails. */
export async function* mergeStreams<Item>(
  streams: readonly AsyncGenerator<Item>[],
): AsyncGenerator<Item, void> {
  const next = async (stream: AsyncGenerator<Item>) => ({ stream, result: await stream.next() })
  const underWay = new Map(streams.map((stream) => [stream, next(stream)]))
  try {
    for (;;) {
      const { stream, result } = await Promise.race(underWay.values())
      if (result.done === true) return
      underWay.set(stream, next(stream))
      yield result.value
    }
  } finally {
    // The others end with the signal that they were given. A failure of theirs is of no use any more.
    for (const pending of underWay.values()) pending.catch(() => {})
    for (const stream of streams) stream.return(undefined).catch(() => {})
  }
}
