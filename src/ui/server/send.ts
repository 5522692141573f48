import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { codedError, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleJson } from '../../base/text/escape.ts'
import type { ErrorBody } from './protocol.ts'

/** A file of the page, as it is sent. */
export interface PageFile {
  type: string
  bytes: Buffer
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

/** Reads the files of the page, by path; no path from outside ever reaches the file system. */
export function readPageFiles(directory: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const name of readdirSync(directory)) {
    const type = types[extname(name)]
    if (type === undefined) continue
    files.set(name === 'index.html' ? '/' : `/${name}`, { type, bytes: readFileSync(join(directory, name)) })
  }
  return files
}

/** No scripts or styles but the page's own, no frames around it, and no markup out of strings. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** Headers of every answer. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
}

/** Characters that are sent of a string: a title of a megabyte must not fill the page. */
const maxStringLength = 20_000

const cutString = (_name: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > maxStringLength ? `${value.slice(0, maxStringLength)}…` : value

const errorBody = ({ code, message, hint }: StintError): ErrorBody => ({
  error: { code, message, ...(hint !== '' && { hint }) },
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

/** Sends an error; `status` is that of a refusal, which has no code of its own. */
export function sendError(response: ServerResponse, thrown: unknown, status?: number): void {
  const error = codedFault(thrown)
  sendJson(response, errorBody(error), status ?? statusOf(error))
}

/** Sends JSON in one line, without characters that a terminal obeys. */
export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  const bytes = Buffer.from(`${visibleJson(value, cutString)}\n`)
  response.writeHead(status, {
    ...safeHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  })
  response.end(bytes)
}
