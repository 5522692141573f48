import { resolve } from 'node:path'
import { z } from 'zod'
import { StintError } from '../../base/errors/stint-error.ts'
import { type Register, WorkspaceClaims } from '../../lease/index.ts'
import type { DriverStore } from '../../session/index.ts'
import type { HeldClaims } from './held-claims.ts'

/** The parts of a server that all of its tools share. */
export interface ServerState {
  register: Register
  store: DriverStore
  held: HeldClaims
}

/** The parts of a server, and of its client's request, that a call of a tool can use. */
export interface ToolContext extends ServerState {
  /** Aborted when the client cancels the call or goes away. */
  signal: AbortSignal
  /** Tells the client that the call goes on. */
  progress(message: string): void
}

/** A tool of the server. A model reads its name, description and schemas, and has nothing else to go by. */
export interface McpTool {
  name: string
  title: string
  description: string
  input: z.ZodObject
  output: z.ZodObject
  /** Whether it changes nothing. */
  isReading: boolean
  call(args: never, context: ToolContext): Promise<{ data: Record<string, unknown>; text: string }>
}

/** Declares a tool, whose arguments and data have the types of its schemas. */
export const defineTool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Omit<McpTool, 'input' | 'output' | 'call'> & {
    input: Input
    output: Output
    call(args: z.infer<Input>, context: ToolContext): Promise<{ data: z.infer<Output>; text: string }>
  },
): McpTool => tool

/** The arguments with which a tool is told a workspace or a resource. */
export const targetInput = {
  workspace: z
    .string()
    .optional()
    .describe('Any directory in the workspace. Default: the directory that the server was started in.'),
  resource: z
    .string()
    .optional()
    .describe('Instead of a workspace: a name that all its users agree on, such as deploy:prod.'),
}

/** Which session the model works in, in the arguments of tools. */
export const sessionInput = {
  session: z.string().optional().describe('The id of your own session. Needed only if a tool asks for it.'),
}

/** The workspace or resource that the data of a tool is about. */
export const targetOutput = {
  workspace: z.string().optional(),
  resource: z.string().optional(),
  workspace_key: z.string(),
}

/** Opens the claims on the workspace or resource that the arguments name. */
export function openTarget(
  { register }: ToolContext,
  { workspace, resource }: { workspace?: string; resource?: string },
): WorkspaceClaims {
  if (workspace !== undefined && resource !== undefined)
    throw new StintError('ARG_ERROR', 'workspace and resource exclude each other', {
      hint: 'Give one of them.',
    })
  return WorkspaceClaims.open(register, { workspace: workspace && resolve(workspace), resource })
}
