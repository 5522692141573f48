import { resolve } from 'node:path'
import { z } from 'zod'
import { StintError } from '../base/errors/stint-error.ts'
import { visibleText } from '../base/text/escape.ts'
import { assertPlainResource, type LeaseStore, WorkspaceClaims } from '../lease/index.ts'
import type { BuiltInStore } from '../session/index.ts'
import { describeTarget } from '../lease/commands/lock-options.ts'
import type { HeldClaims } from './held-claims.ts'

/** The parts of a server that all of its tools share. */
export interface ServerState {
  leases: LeaseStore
  store: BuiltInStore
  held: HeldClaims
}

/** The parts of a server, and of its client's request, that a call of a tool can use. */
export interface ToolContext extends ServerState {
  /** Aborted when the client cancels the call or goes away. */
  signal: AbortSignal
  /** Tells the client that the call goes on. */
  progress(message: string): void
}

/** A tool of the server. A model reads its name, description and arguments, and has nothing else to go by. */
export interface McpTool {
  name: string
  title: string
  description: string
  input: z.ZodObject
  /** Whether it changes nothing. */
  isReading: boolean
  call(args: never, context: ToolContext): Promise<{ data: Record<string, unknown>; text: string }>
}

/** Declares a tool with arguments of these types; an error names them if a call has another argument. */
export function defineTool<Shape extends z.ZodRawShape>(
  tool: Omit<McpTool, 'input' | 'call'> & {
    input: Shape
    call(args: z.infer<z.ZodObject<Shape>>, context: ToolContext): ReturnType<McpTool['call']>
  },
): McpTool {
  const names = Object.keys(tool.input).join(', ')
  const input = z.strictObject(tool.input, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${tool.name} has no argument ${visibleText(issue.keys.join(', '), 200)}; its arguments are ${names}`
        : undefined,
  })
  return { ...tool, input }
}

/**
 * A path, or another name, as an argument. No path on Linux is longer; resolving one with millions of
 * components would exhaust the server's memory, and an error that quotes it would fill the model's context.
 */
export const nameInput = z.string().max(4096)

/** The arguments with which a tool is told a workspace or a resource. */
export const targetInput = {
  workspace: nameInput
    .optional()
    .describe('Any directory in the workspace. Default: the directory that the server was started in.'),
  resource: nameInput
    .optional()
    .describe('Instead of a workspace: a name that all its users agree on, such as deploy:prod.'),
}

/** Opens the claims on the workspace or resource that the arguments name. */
export function openTarget(
  { leases }: ToolContext,
  { workspace, resource }: { workspace?: string; resource?: string },
): WorkspaceClaims {
  if (workspace !== undefined && resource !== undefined)
    throw new StintError('ARG_ERROR', 'workspace and resource exclude each other', {
      hint: 'Give one of them.',
    })
  if (resource !== undefined) assertPlainResource(resource)
  return WorkspaceClaims.open(leases, { workspace: workspace && resolve(workspace), resource })
}

/** The workspace or resource that an answer is about, without its key, which says nothing to a model. */
export function targetOf(target: { key: string; title: string }): {
  workspace?: string
  resource?: string
} {
  const { workspace_key: _, ...shown } = describeTarget(target)
  return shown
}
