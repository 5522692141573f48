/** A claim or a session that a command can name. */
interface Nameable {
  id: string
  /** Its agent or program, as people call it: `Claude Code`, `claude`. */
  agent?: string | null
  /** Whether it works in the directory that `.` stands for. */
  isHere: boolean
}

interface NameMatch<Item> {
  /** In the order of the candidates. */
  items: Item[]
  /** Whether the name is the whole id: then a command that destroys something need not ask. */
  isExact: boolean
}

/**
 * Finds the candidates that a name means: its id, else ids that begin with it (`ses_` may be left out) or
 * that a table has shortened (`ses_01J…9QF2`), else an agent (`claude`, `Claude Code`), else `.`.
 */
export function matchName<Item extends Nameable>(name: string, candidates: readonly Item[]): NameMatch<Item> {
  const exact = candidates.filter(({ id }) => id === name)
  if (exact.length > 0) return { items: exact, isExact: true }
  const tests: ((item: Item) => boolean)[] = [
    ({ id }) => isShortened(name, id),
    ({ agent }) => isAgent(name, agent ?? ''),
    ({ isHere }) => name === '.' && isHere,
  ]
  const matches = tests.map((test) => candidates.filter(test)).find(({ length }) => length > 0)
  return { items: matches ?? [], isExact: false }
}

function isShortened(name: string, id: string): boolean {
  const [start = '', end = ''] = name.split('…', 2)
  if (start === '' && end === '') return false
  const forms = [id, id.replace(/^ses_/, '')]
  return forms.some((form) => form.startsWith(start)) && id.endsWith(end)
}

/** Is this the name of an agent, or the first word of it? */
function isAgent(name: string, agent: string): boolean {
  const [wanted, title] = [name.toLowerCase(), agent.toLowerCase()]
  return title === wanted || (wanted !== '' && title.startsWith(`${wanted} `))
}

const shownNames = 5

/** A few of many names, as part of a sentence. */
export function listNames(names: readonly string[]): string {
  const rest = names.length - shownNames
  return `${names.slice(0, shownNames).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
