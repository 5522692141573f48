/** The start of a string, a whole number, or a brace. */
const token = /"|-?\d[\d.eE+-]*|[{}]/g

/**
 * Rewrites every string, key and number in the output of `JSON.stringify`; a number that changes becomes a
 * string. Works on the JSON, since that is what would be written, and at any depth.
 */
export function rewriteJson(json: string, rewrite: (text: string) => string): string {
  /** The keys of each open object. */
  const keys: Set<string>[] = []
  let result = ''
  let done = 0
  token.lastIndex = 0
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const { index: start, 0: found } = match
    if (found === '{') keys.push(new Set())
    else if (found === '}') keys.pop()
    else {
      const isString = found === '"'
      const end = isString ? endOfString(json, start) : start + found.length
      const text = isString ? (JSON.parse(json.slice(start, end)) as string) : found
      const isKey = isString && json[end] === ':'
      const rewritten = isKey ? addKey(keys.at(-1), rewrite(text)) : rewrite(text)
      if (rewritten !== text) {
        result += json.slice(done, start) + JSON.stringify(rewritten)
        done = end
      }
      token.lastIndex = end
    }
  }
  return result + json.slice(done)
}

function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0
    while (json[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return json.length
}

/** Keeps keys distinct: two keys may differ only in the secret that was replaced. */
function addKey(keys: Set<string> | undefined, key: string): string {
  let unique = key
  for (let count = 2; keys?.has(unique); count++) unique = `${key} (${count})`
  keys?.add(unique)
  return unique
}
