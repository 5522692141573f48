const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const minus = 0x2d
const opens = 0x7b
const closes = 0x7d
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/**
 * Rewrites every string, key and number in the output of `JSON.stringify`; a number that changes becomes a
 * string. Works on the JSON, since that is what would be written, and at any depth.
 */
export function rewriteJson(json: string, rewrite: (text: string) => string): string {
  const keys: Set<string>[] = []
  let result = ''
  let done = 0
  const put = (at: number, end: number, text: string): void => {
    result += json.slice(done, at) + JSON.stringify(text)
    done = end
  }
  for (let at = 0; at < json.length;) {
    const code = json.charCodeAt(at)
    const end = endOfToken(json, at, code)
    if (code === quote) {
      const text = JSON.parse(json.slice(at, end)) as string
      const rewritten = rewrite(text)
      const unique = json.charCodeAt(end) === colon ? addKey(keys.at(-1), rewritten) : rewritten
      if (unique !== text) put(at, end, unique)
    } else if (end > at + 1 || isDigit(code)) {
      const text = json.slice(at, end)
      const rewritten = rewrite(text)
      if (rewritten !== text) put(at, end, rewritten)
    } else if (code === opens) keys.push(new Set())
    else if (code === closes) keys.pop()
    at = end
  }
  return result + json.slice(done)
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** The end of the string or number that starts at `at`; any other token is one character long. */
function endOfToken(json: string, at: number, code: number): number {
  if (code === quote) return endOfString(json, at)
  if (code !== minus && !isDigit(code)) return at + 1
  number.lastIndex = at
  return at + (number.exec(json)?.[0].length ?? 1)
}

function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0
    while (json.charCodeAt(end - 1 - escapes) === backslash) escapes++
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
