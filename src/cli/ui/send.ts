import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { codedError, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleJson } from '../../base/text/escape.ts'
import type { ErrorBody } from '../../ui/protocol.ts'
import { safeHeaders } from './page-files.ts'
import type { EndpointAnswer } from './routes.ts'

/** Characters that are sent of a string: a title of a megabyte must not fill the page. */
const maxStringLength = 4000

const cutString = (_name: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > maxStringLength ? `${value.slice(0, maxStringLength)}…` : value

/** JSON in one line, without characters that a terminal obeys. */
const jsonOf = (value: unknown, isWhole = false): string =>
  visibleJson(value, isWhole ? undefined : cutString)

const errorBody = (error: StintError): ErrorBody => ({
  error: { code: error.code, message: error.message, hint: error.hint },
})

/** Gives whatever an endpoint has thrown a code. */
function codedFault(thrown: unknown): StintError {
  const error = codedError(thrown, 'answer the request')
  return error instanceof StintError
    ? error
    : new StintError('UNEXPECTED', errorMessage(error), { cause: thrown })
}

const statusOfExit: Readonly<Record<number, number>> = { 2: 400, 5: 404, 6: 409, 7: 403 }
const statusOfCode: Readonly<Record<string, number>> = {
  READ_ONLY: 403,
  LOCK_HELD: 409,
  SESSION_LOCKED: 409,
  DISK_FULL: 507,
}

const statusOf = ({ code, exit }: StintError): number =>
  statusOfCode[code] ?? (code.startsWith('POSTGRES_') ? 503 : (statusOfExit[exit] ?? 500))

function sendText(response: ServerResponse, status: number, text: string): void {
  const bytes = Buffer.from(`${text}\n`)
  response.writeHead(status, {
    ...safeHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  })
  response.end(bytes)
}

/** Sends an error; `status` is that of a refusal, which has no code of its own. */
export function sendError(response: ServerResponse, thrown: unknown, status?: number): void {
  const error = codedFault(thrown)
  // The client of a stream learns of the error by its last line.
  if (response.headersSent) response.end(`${jsonOf(errorBody(error))}\n`)
  else sendText(response, status ?? statusOf(error), jsonOf(errorBody(error)))
}

/** Sends the answer of an endpoint. A slow client slows the endpoint down, and fills no memory. */
export async function sendAnswer(response: ServerResponse, answer: EndpointAnswer): Promise<void> {
  if ('json' in answer) return sendText(response, 200, jsonOf(answer.json, answer.isWhole))
  response.writeHead(200, { ...safeHeaders, 'Content-Type': 'application/x-ndjson; charset=utf-8' })
  // The client may show that it is connected before the first line comes.
  response.flushHeaders()
  for await (const line of answer.lines) {
    if (response.destroyed) return
    if (!response.write(`${jsonOf(line)}\n`))
      await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end()
}
