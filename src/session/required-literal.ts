/** An escape in a regular expression that does not stand for the character after its backslash. */
const classEscape =
  /^\\(?:x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|u\{[^}]*\}|c[A-Za-z]|k<[^>]*>|[pP]\{[^}]*\}|\d+|[A-Za-z])/
const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/

/**
 * Returns the longest string that every match of a regular expression contains; undefined if none is certain.
 * It only reads the outermost level: groups and classes end a string, and an alternative there rules all out.
 */
export function requiredLiteral({ source, ignoreCase, flags }: RegExp): string | undefined {
  if (ignoreCase || flags.includes('v')) return undefined
  let longest = ''
  let run: string[] = []
  const endRun = (): void => {
    const literal = run.join('')
    if (literal.length > longest.length) longest = literal
    run = []
  }
  for (let rest = source; rest !== '';) {
    const repeat = quantifier.exec(rest)?.[0]
    const group = lengthOfGroup(rest)
    const special = classEscape.exec(rest)?.[0]
    if (rest.startsWith('|')) return undefined
    if (repeat !== undefined) {
      // What is repeated from zero times on need not be there.
      if (!repeat.startsWith('+')) run.pop()
      endRun()
      rest = rest.slice(repeat.length)
    } else if (group > 0 || special !== undefined || '.^$)]{}'.includes(rest.charAt(0))) {
      endRun()
      rest = rest.slice(Math.max(1, group, special?.length ?? 0))
    } else {
      const literal = rest.startsWith('\\') ? rest.slice(1) : rest
      const char = String.fromCodePoint(literal.codePointAt(0) ?? 0)
      run.push(char)
      rest = literal.slice(char.length)
    }
  }
  endRun()
  return longest === '' ? undefined : longest
}

/** The length of the group or class at the beginning of a pattern; 0 if none begins there. */
function lengthOfGroup(pattern: string): number {
  if (!/^[([]/.test(pattern)) return 0
  let depth = 0
  let inClass = false
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i]
    if (char === '\\') i += 1
    else if (inClass) inClass = char !== ']'
    else if (char === '[') inClass = true
    else if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    if (char !== '\\' && depth === 0 && !inClass) return i + 1
  }
  return pattern.length
}
