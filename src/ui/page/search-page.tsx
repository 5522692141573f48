import { useEffect, useRef } from 'preact/hooks'
import type { SearchHit } from '../protocol.ts'
import { addressOf } from './api.ts'
import { At } from './clock.tsx'
import { shortened, shown } from './format.ts'
import { Empty, ErrorBox } from './parts.tsx'
import { choose, linkTo, route } from './route.ts'
import { useLines } from './use-lines.ts'

const maxHits = 300

/** Searches events and audit lines of all sessions; hits appear as they are found. */
export function SearchPage() {
  const { q = '', regex = '' } = route.value.query
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const address = q === '' ? undefined : addressOf('/api/search', { q, regex, limit: maxHits })
  const { lines, end, error } = useLines<SearchHit>(address, maxHits).value
  return (
    <>
      <div class="head">
        <h1>Search</h1>
      </div>
      <form
        class="query"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          choose({ q: field.current?.value.trim() ?? '' })
        }}
      >
        <input
          ref={field}
          type="search"
          aria-label="Search events and audit lines"
          placeholder="Search events and audit lines"
          key={q}
          defaultValue={q}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={regex === '1'}
            onChange={(event) => choose({ regex: event.currentTarget.checked ? '1' : '' })}
          />
          regular expression
        </label>
        <button class="main">Search</button>
      </form>
      {error !== undefined && <ErrorBox error={error} />}
      {q === '' ? (
        <Empty title="What was it about?">
          A word of a prompt, a file, an error. <kbd>Enter</kbd> starts, <kbd>j</kbd> and <kbd>k</kbd> go
          through the hits.
        </Empty>
      ) : (
        <>
          <Hits hits={lines} q={q} isRegex={regex === '1'} />
          <p class="pager" role="status">
            {end === undefined && error === undefined ? 'Searching…' : summaryOf(lines.length, end?.found)}
            {end !== undefined &&
              end.unreadable.length > 0 &&
              `, ${end.unreadable.length} sessions not readable`}
          </p>
        </>
      )}
    </>
  )
}

const summaryOf = (count: number, found = count): string =>
  count === 0 ? 'Nothing found.' : `${found} found${count === maxHits ? ': these are the first' : ''}`

function Hits({ hits, q, isRegex }: { hits: readonly SearchHit[]; q: string; isRegex: boolean }) {
  if (hits.length === 0) return null
  return (
    <ol class="panel hits">
      {hits.map((hit) => (
        <li class="row" key={`${hit.session_id} ${hit.log} ${hit.seq ?? hit.at} ${hit.path ?? ''}`}>
          <a class="whole cut" data-item href={linkOf(hit)}>
            {shown(hit.title ?? shortened(hit.session_id, 20), 120)}
          </a>
          <span class="dim small">
            {shown(hit.type, 60)} {hit.seq}
            {hit.pending === true && ' pending'}
          </span>
          <span class="right dim small">
            <At at={hit.at} />
          </span>
          <p class="small wrap">
            <Marked text={shown(hit.excerpt, 600)} word={isRegex ? '' : q} />
          </p>
        </li>
      ))}
    </ol>
  )
}

/** A hit in the journal leads to its place in the timeline, one in the audit log to the acts. */
function linkOf({ session_id, log, seq }: SearchHit): string {
  if (log === 'audit') return linkTo('sessions', session_id, { view: 'acts' })
  return linkTo('sessions', session_id, log === 'journal' && seq !== null ? { at: String(seq) } : {})
}

function Marked({ text, word }: { text: string; word: string }) {
  const at = word === '' ? -1 : text.toLowerCase().indexOf(word.toLowerCase())
  if (at === -1) return <>{text}</>
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + word.length)}</mark>
      {text.slice(at + word.length)}
    </>
  )
}
