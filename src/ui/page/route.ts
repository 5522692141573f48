import { computed, signal } from '@preact/signals'

/** The pages, in the order of the navigation. */
export const pages = [
  { name: 'now', title: 'Now' },
  { name: 'workspaces', title: 'Workspaces' },
  { name: 'sessions', title: 'Sessions' },
  { name: 'changes', title: 'Changes' },
] as const
type PageName = (typeof pages)[number]['name']

/** Where the page is: a page, what it shows of its list, and what was chosen there. */
export interface Route {
  page: PageName
  /** The id of a session, the key of a workspace, or `KEY.ID` of a change set. */
  id?: string
  query: Readonly<Record<string, string>>
}

/** Reads the fragment of an address, such as `#/sessions/ses_01?at=7`. Anything else is the first page. */
export function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split('?', 2)
  const [, name, id = ''] = path.split('/')
  const page = pages.find((each) => each.name === name)?.name
  if (page === undefined) return { page: 'now', query: {} }
  return {
    page,
    ...(id === '' ? {} : { id: decoded(id) }),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** The fragment of a route; parameters that are empty are left out. */
export function linkTo(page: PageName, id = '', query: Readonly<Record<string, string>> = {}): string {
  const parameters = Object.entries(query).filter(([, value]) => value !== '')
  const search = new URLSearchParams(parameters).toString()
  return `#/${page}${id === '' ? '' : `/${encodeURIComponent(id)}`}${search === '' ? '' : `?${search}`}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that begins no escape stands for itself.
    return text
  }
}

const fragment = signal('')

export const route = computed(() => parseRoute(fragment.value))

/** Follows the address from now on. */
export function followAddress(): void {
  const read = (): void => void (fragment.value = location.hash)
  addEventListener('hashchange', read)
  read()
}

export const goTo = (link: string): void => void (location.hash = link)

/** Changes what is chosen on this page, without a step in the browser's history. */
export function choose(changes: Readonly<Record<string, string>>): void {
  const { page, id, query } = route.peek()
  history.replaceState(null, '', linkTo(page, id, { ...query, ...changes }))
  fragment.value = location.hash
}
