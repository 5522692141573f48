import { StintError } from '../../base/errors/stint-error.ts'

/** What an endpoint is called with. Strings come from outside, and are not checked yet. */
export interface Call {
  /** The parts of the path that `:name` stands for. */
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  /** The JSON of a POST. */
  body: Readonly<Record<string, unknown>>
  /** Aborts when the client has gone, or the server ends. */
  signal: AbortSignal
}

/** An answer: one JSON object, or a stream of them. Long strings are cut unless `isWhole`. */
export type EndpointAnswer = { json: unknown; isWhole?: boolean } | { lines: AsyncIterable<unknown> }

/** Endpoints by `METHOD /path`, in which `:name` stands for one part. */
export type Routes = Readonly<Record<string, (call: Call) => EndpointAnswer | Promise<EndpointAnswer>>>

export interface Matched {
  /** Undefined if the path has no endpoint for this method. */
  answer: Routes[string] | undefined
  params: Record<string, string>
  /** The methods that the path has. */
  methods: string[]
}

/** Finds the endpoint of a path; undefined if there is none for any method. */
export function matchRoute(routes: Routes, method: string, path: string): Matched | undefined {
  const parts = path.split('/')
  const methods: string[] = []
  let found: Omit<Matched, 'methods'> = { answer: undefined, params: {} }
  for (const [route, answer] of Object.entries(routes)) {
    const [of = '', pattern = ''] = route.split(' ')
    const params = paramsOf(pattern.split('/'), parts)
    if (params === undefined) continue
    methods.push(of)
    if (of === method) found = { answer, params }
  }
  return methods.length === 0 ? undefined : { ...found, methods }
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const expected = pattern[index] ?? ''
    if (!expected.startsWith(':')) {
      if (expected !== part) return undefined
    } else if (part === '') return undefined
    else params[expected.slice(1)] = decoded(part)
  }
  return params
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    throw new StintError('ARG_ERROR', 'the path is not valid UTF-8', { cause: error })
  }
}
