import { Transform } from 'node:stream'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { defineBareCommand } from '../command/define-command.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { version } from '../cli/stint.ts'
import { openLeases, openStore, storeOption } from '../cli/store.ts'
import { claimTools } from './claim-tools.ts'
import { HeldClaims } from './held-claims.ts'
import { readingTools } from './reading-tools.ts'
import type { McpTool, ServerState } from './tool.ts'

export const mcpServeCommand = defineBareCommand({
  name: 'mcp',
  summary:
    'A Model Context Protocol server on stdin and stdout: agents see who works where, claim files and wait for each other.',
  options: storeOption,
  stream: true,
  envelope: 'on-request',
  examples: [['stint mcp', 'what an MCP client starts; it ends with its client']],
  async run({ signal, warn }, { options }) {
    const state = {
      leases: await openLeases(options.store, warn),
      store: await openStore(options.store, warn),
      held: new HeldClaims(),
    }
    const input = process.stdin.pipe(limitLines(refuseLine))
    const transport = new StdioServerTransport(input, process.stdout, { maxBufferSize: 2 * maxLineBytes })
    const closed = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve())
      process.stdin.once('close', resolve).once('end', resolve)
      process.stdout.once('error', () => resolve())
    })
    const handle = serveStdio(() => createServer(state), { transport })
    await closed
    await handle.close()
    await state.held.close()
  },
})

const maxLineBytes = 10 << 20
const newline = 0x0a

/** Passes lines on; of a line over 10 MB it drops the rest, and calls `onLongLine`. */
function limitLines(onLongLine: () => void): Transform {
  let lineBytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let start = 0; start < chunk.length;) {
        const end = chunk.indexOf(newline, start) + 1 || chunk.length
        const isDropped = lineBytes > maxLineBytes
        lineBytes += end - start
        if (!isDropped && lineBytes > maxLineBytes) {
          // The part of the line that was passed on ends here: it is no message, and the transport skips it.
          this.push('\n')
          onLongLine()
        } else if (!isDropped) this.push(chunk.subarray(start, end))
        if (chunk[end - 1] === newline) lineBytes = 0
        start = end
      }
      done()
    },
  })
}

/** Answers a line that was not read, and whose id is therefore not known. */
function refuseLine(): void {
  const error = { code: -32_600, message: `the message has over ${maxLineBytes} bytes, and was not read` }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`)
}

const instructions =
  'stint keeps sessions that share a workspace from editing the same files. Call who before a large change, ' +
  'claim what you are going to edit if others work here, and release it when you are done.'

/** The tools of a server, in the order of their list. */
export const allTools = [...readingTools, ...claimTools]

/** A server with these tools; one is made for each connection. */
export function createServer(state: ServerState, tools: readonly McpTool[] = allTools): McpServer {
  const server = new McpServer({ name: 'stint', version }, { capabilities: { tools: {} }, instructions })
  for (const tool of tools) addTool(server, tool, state)
  return server
}

function addTool(server: McpServer, tool: McpTool, state: ServerState): void {
  const { name, title, description, input, isReading } = tool
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: input,
      annotations: {
        title,
        readOnlyHint: isReading,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    },
    async (args, { mcpReq }) => {
      const { _meta: meta } = mcpReq
      const token = meta?.progressToken
      let steps = 0
      const progress = (message: string): void => {
        if (token === undefined) return
        const params = { progressToken: token, progress: ++steps, message }
        // The client may be gone; then the call is aborted.
        mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
      }
      try {
        const context = { ...state, signal: mcpReq.signal, progress }
        const { data, text } = await tool.call(args as never, context)
        return { content: [{ type: 'text', text }], structuredContent: data }
      } catch (error) {
        return { content: [{ type: 'text', text: explain(error) }], isError: true }
      }
    },
  )
}

/** The message of an error for a model: what went wrong, and what to do. */
function explain(error: unknown): string {
  if (!(error instanceof StintError)) return `UNEXPECTED: ${errorMessage(error)}`
  return `${error.code}: ${error.message}. ${error.hint}`.trimEnd()
}
