/** Returns the word that a misspelt one was probably meant to be; undefined if none is close enough. */
export function findClosest(word: string, words: readonly string[]): string | undefined {
  const ranked = words.map((each) => ({ each, distance: editDistance(word, each) }))
  ranked.sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3))
    ? best.each
    : undefined
}

/** The number of letters that were added, left out, mistaken or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let last: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, char] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const exchanged = char === b[j - 1] && other === a[i - 1] ? (last[j - 1] ?? 0) + 1 : Infinity
      const mistaken = (row[j] ?? 0) + (char === other ? 0 : 1)
      next.push(Math.min(mistaken, exchanged, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    last = row
    row = next
  }
  return row.at(-1) ?? 0
}
