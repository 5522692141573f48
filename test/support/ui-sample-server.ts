import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { projectRoot } from './world.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** Serves the built page with the same answers at all times, so that it looks the same. */
export async function startSampleServer(
  answers: Readonly<Record<string, unknown>>,
): Promise<{ url: string } & Disposable> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://127.0.0.1')
    const answer = answers[request.url ?? ''] ?? answers[pathname]
    if (answer !== undefined) return void response.end(JSON.stringify(answer))
    if (pathname.startsWith('/api/')) {
      response.statusCode = 404
      return void response.end(
        JSON.stringify({ error: { code: 'NOT_FOUND', message: 'not in this sample' } }),
      )
    }
    const file = pathname === '/' ? 'index.html' : pathname.slice(1)
    response.setHeader('content-type', types[extname(file)] ?? 'text/plain')
    response.end(readFileSync(join(projectRoot, 'dist/ui/page', file)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/#token=once`,
    [Symbol.dispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
