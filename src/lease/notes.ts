import { lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { publishFile } from '../base/fs/atomic-file.ts'
import { nodeDisk } from '../base/fs/disk.ts'
import { ifExists, lstatIfExists } from '../base/fs/exists.ts'
import { ensureHomeDirectory, withHomeErrors } from '../base/fs/home.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { visibleText } from '../base/text/escape.ts'
import { isNumber, isString, parseObject } from '../base/text/fields.ts'
import { ulid } from '../base/text/id.ts'
import { roughDuration } from './lock-held-error.ts'

// A note is a file of its own: `notes/workspace/<key>/` has those for the next holder of a workspace or
// resource, `notes/session/<id>/` those for one session. A note that was shown gets the suffix `.shown`.

/** A short word to the next holder of a workspace, or to a session. */
export interface Note {
  id: string
  /** When it was left, in milliseconds since the epoch. */
  at: number
  text: string
  /** The session, or else the user, that left it. */
  from: string
  /** The session that it is for; without one, the next that gets the workspace. */
  to?: string
  /** The workspace or resource that it is about. */
  key: string
  name: string
  /** When it was shown, in milliseconds since the epoch. */
  shownAt?: number
}

/** A note that was not shown for this long is removed, and so is one that was; in milliseconds. */
export const noteKeptMs = 30 * 24 * 3_600_000
/** Characters of a note. */
export const maxNoteLength = 500
/** How many notes a session is shown at once; the others come with its next claim. */
const shownAtOnce = 5

const placeOf = (home: string, { key, to }: Pick<Note, 'key' | 'to'>): string =>
  to === undefined ? join(home, 'notes', 'workspace', key) : join(home, 'notes', 'session', to)

/** Leaves a note, which must be without secrets; on return it is on disk. If that fails, there is no note. */
export function addNote(home: string, note: Omit<Note, 'id' | 'shownAt'>): Note {
  const directory = placeOf(home, note)
  const parents = [directory, dirname(directory), join(home, 'notes'), home]
  const added = { id: ulid(note.at), ...note }
  const file = join(directory, `${added.id}.json`)
  return withHomeErrors(home, 'leave the note', () => {
    for (const path of parents.toReversed()) ensureHomeDirectory(path)
    try {
      publishFile(file, JSON.stringify(added))
      for (const path of parents.slice(1)) nodeDisk.syncDirectory(path)
    } catch (error) {
      ifPossible(() => unlinkSync(file))
      throw error
    }
    return added
  })
}

/** All notes, shown or not, oldest first. Throws if one cannot be read. */
export function listNotes(home: string): Note[] {
  return withHomeErrors(home, 'read the notes', () => {
    const places = ['workspace', 'session'].flatMap((kind) =>
      namesIn(join(home, 'notes', kind), 'throwOnError').map((name) => join(home, 'notes', kind, name)),
    )
    const notes = places.flatMap((place) => notesIn(place, 'throwOnError').map(({ note }) => note))
    return notes.sort((a, b) => a.at - b.at)
  })
}

/**
 * Takes the notes for a session that was just granted a claim: those for it, and those that other sessions
 * left for the next holder. Each is taken by one session only, whichever renames its file first.
 */
export function takeNotes(home: string, key: string, sessionId: string, now: number): Note[] {
  const places = [placeOf(home, { key, to: sessionId }), placeOf(home, { key })]
  const waiting = places
    .flatMap((place) => notesIn(place))
    .filter(({ note }) => note.shownAt === undefined && note.from !== sessionId && !isOld(note, now))
    .slice(0, shownAtOnce)
  return waiting.flatMap(({ path, note }) => {
    const isMine = ifPossible(() => {
      renameSync(path, `${path}${shownSuffix}`)
      return true
    })
    return isMine === true ? [note] : []
  })
}

const isOld = ({ at, shownAt = at }: Note, now: number): boolean => now - shownAt > noteKeptMs

/** Removes notes that are older than 30 days; returns how many. */
export function sweepNotes(home: string, now: number): number {
  let removed = 0
  for (const kind of ['workspace', 'session']) {
    const directory = join(home, 'notes', kind)
    for (const name of namesIn(directory)) {
      const place = join(directory, name)
      for (const { path, note } of notesIn(place))
        if (isOld(note, now) && ifPossible(() => (unlinkSync(path), true))) removed += 1
      // Fails while there are notes in it.
      ifPossible(() => rmdirSync(place))
    }
  }
  return removed
}

/** A note in one sentence: for a model, which reads it after the hand-over. */
export const noteText = ({ from, text, at, name, to }: Note, now: number): string =>
  `Note ${to === undefined ? '' : `to you about ${visibleText(name)} `}from ${visibleText(from)}, ${roughDuration(now - at)} ago: ${JSON.stringify(visibleText(text))}`

const shownSuffix = '.shown'
const noteFile = /^[0-9A-HJKMNP-TV-Z]{26}\.json(?:\.shown)?$/

/** The names in a directory; none if it is missing, a link, or (without `throwOnError`) not readable. */
function namesIn(directory: string, onError?: 'throwOnError'): string[] {
  const list = (): string[] => (lstatIfExists(directory)?.isDirectory() ? readdirSync(directory).sort() : [])
  return (onError === 'throwOnError' ? ifExists(list) : ifPossible(list)) ?? []
}

/** The notes in a directory, oldest first, each with its file; leaves out what is not a note. */
function notesIn(directory: string, onError?: 'throwOnError'): { path: string; note: Note }[] {
  return namesIn(directory, onError).flatMap((name) => {
    const path = join(directory, name)
    const note = noteFile.test(name) ? parseNote(readSmallFile(path, onError) ?? '') : undefined
    if (note === undefined) return []
    // The rename is the last change of the file.
    if (name.endsWith(shownSuffix)) note.shownAt = ifPossible(() => lstatSync(path).ctimeMs) ?? note.at
    return [{ path, note }]
  })
}

function parseNote(json: string): Note | undefined {
  const { id, at, text, from, to, key, name } = parseObject(json) ?? {}
  if (!isString(id) || !isNumber(at) || !isString(text) || !isString(from)) return undefined
  if (!isString(key) || !isString(name)) return undefined
  return { id, at, text, from, key, name, ...(isString(to) && { to }) }
}
