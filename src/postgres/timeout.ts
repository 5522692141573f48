/** There was no answer in time: what was asked for may happen yet. */
export class Late extends Error {}

/** Somebody may hold the row, or the network swallow the answer: nobody must wait for that without end. */
export async function within<Result>(ms: number, act: () => Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`no answer within ${ms} ms`)), ms)
  })
  const acting = act()
  acting.catch(() => {})
  try {
    return await Promise.race([acting, late])
  } finally {
    clearTimeout(timer)
  }
}
