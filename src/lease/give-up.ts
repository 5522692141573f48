import { type Book, change, type Changed } from './book.ts'
import type { Steps } from './register.ts'
import { release, type ReleaseRequest } from './rules.ts'

/**
 * Releases a claim. A swap may be won and overtaken before it is known: what was there at the first look and is gone at the next has been
 * released, and must not be called "nothing to release".
 */
export function* giveUp(book: Book, request: ReleaseRequest): Steps<unknown, Changed<{ released: boolean }>> {
  let tried = false
  return yield* change(book, (claims) => {
    const { next, answer } = release(claims, request)
    const released = answer.released || tried
    tried ||= next !== undefined
    return { next, answer: { released } }
  })
}
