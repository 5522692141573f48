import { sep } from 'node:path'

/** Is this absolute path the other one, or below it? By name only: no link is followed. */
export const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(outer.endsWith(sep) ? outer : `${outer}${sep}`)
