import { linkTo, type PageName, pages } from './route.ts'

/** The action that a key stands for. */
export type KeyCommand =
  | { do: 'go'; page: PageName }
  | { do: 'step'; by: 1 | -1 }
  | { do: 'search' | 'help' | 'wait-for-letter' | 'none' }

/** Decides what a key means, alone or after `g`. */
export function commandOf(key: string, afterG: boolean): KeyCommand {
  const page = afterG ? pages.find((each) => each.key === key) : undefined
  if (page !== undefined) return { do: 'go', page: page.name }
  switch (key) {
    case 'g':
      return { do: 'wait-for-letter' }
    case 'j':
      return { do: 'step', by: 1 }
    case 'k':
      return { do: 'step', by: -1 }
    case '/':
      return { do: 'search' }
    case '?':
      return { do: 'help' }
    default:
      return { do: 'none' }
  }
}

/** How long `g` waits for its letter, in milliseconds. */
const letterMs = 1500

/** Listens for keys; `showHelp` opens the list of them. Keys in a field or a dialog stay there. */
export function listenForKeys(showHelp: () => void): void {
  let gAt = -Infinity
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    const command = commandOf(event.key, event.timeStamp - gAt < letterMs)
    gAt = command.do === 'wait-for-letter' ? event.timeStamp : -Infinity
    if (command.do === 'none') return
    event.preventDefault()
    if (command.do === 'go') location.hash = linkTo(command.page)
    if (command.do === 'step') stepTo(command.by)
    if (command.do === 'search') focusSearch()
    if (command.do === 'help') showHelp()
  })
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, dialog') !== null

/** Moves the focus to the next or previous item of the page; each is a link or a button. */
function stepTo(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')]
  const current = items.findIndex((item) => item.contains(document.activeElement))
  const next = current === -1 ? (by === 1 ? 0 : items.length - 1) : current + by
  const item = items[Math.min(Math.max(next, 0), items.length - 1)]
  item?.focus()
  item?.scrollIntoView({ block: 'nearest' })
}

/** Puts the cursor into the search field of this page; a page without one goes to the search. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  if (field === null) location.hash = linkTo('search')
  else field.select()
}
