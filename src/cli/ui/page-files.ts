import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { StintError } from '../../base/errors/stint-error.ts'

/** A file of the page, as it is sent. */
export interface PageFile {
  type: string
  bytes: Buffer
  gzipped: Buffer
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
  try {
    for (const name of readdirSync(directory)) {
      const type = types[extname(name)]
      if (type === undefined) continue
      const bytes = readFileSync(join(directory, name))
      files.set(`/${name}`, { type, bytes, gzipped: gzipSync(bytes) })
    }
  } catch (error) {
    throw incomplete(directory, error)
  }
  const index = files.get('/index.html')
  if (index === undefined) throw incomplete(directory)
  files.set('/', index)
  return files
}

const incomplete = (directory: string, cause?: unknown): StintError =>
  new StintError('NOT_FOUND', `stint is not completely installed: there is no page in ${directory}`, {
    cause,
    hint: 'Install it again: npm install --global stint',
  })

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
