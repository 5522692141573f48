import { type Book, change, type Changed } from './workspace-claims.ts'
import type { Steps } from './register.ts'
import { decideRelease, type ReleaseRequest } from './rules.ts'

/** Releases a claim. If an earlier try may have released it, and it is gone now, then it was released: that is not "nothing to release". */
export const giveUp = (book: Book, request: ReleaseRequest): Steps<unknown, Changed<{ released: boolean }>> =>
  change(book, (claims, _witness, _fence, tried) => {
    const { next, answer } = decideRelease(claims, request)
    return { next, answer: { released: answer.released || tried?.released === true } }
  })
