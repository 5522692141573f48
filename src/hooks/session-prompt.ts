import { readdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { renameInto } from '../base/fs/atomic-file.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { type Identity, liveness, parseIdentity } from '../base/process/liveness.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import {
  allClaims,
  type ClaimOrigin,
  homeStore,
  isSameProcess,
  type LeaseStore,
  parseOrigin,
  readDescent,
} from '../lease/index.ts'

// The first words of a session's prompt wait in a file of their own for the claim of its next call.

const promptsIn = (home: string): string => join(home, 'prompts')

const pathOf = (sessionId: string, env: NodeJS.ProcessEnv): string =>
  join(promptsIn(stintHome(env)), isSessionId(sessionId) ? sessionId : '')

/** How many characters of a prompt people need to recognize their session. */
const keptCharacters = 60

/** The first words of a prompt, in one line. */
export function firstWords(prompt: string): string {
  const line = prompt
    .slice(0, 4 * keptCharacters)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const words = Array.from(line)
  return words.length > keptCharacters
    ? `${words
        .slice(0, keptCharacters - 1)
        .join('')
        .trimEnd()}…`
    : line
}

/** The first words of a prompt, which must be without secrets, and the agent that has got it. */
interface KeptPrompt {
  /** Empty if the user wants them kept out of claims. */
  words: string
  agent: Identity | null
  origin?: ClaimOrigin
}

/** Keeps the first words of a session's prompt while its agent lives, and the windows that it has. */
export function keepPrompt(sessionId: string, prompt: KeptPrompt, env: NodeJS.ProcessEnv): void {
  const home = stintHome(env)
  ensureHome(home)
  ensureHomeDirectory(promptsIn(home))
  const windows = windowsOf(sessionId, prompt.agent, env)
  const text = JSON.stringify({ ...prompt, ...(windows.length > 1 && { windows }) })
  renameInto(pathOf(sessionId, env), (staged) => createPrivateFile(staged, text))
}

/** The living processes that are known to have this session open, with the given one. */
export function windowsOf(sessionId: string, agent: Identity | null, env: NodeJS.ProcessEnv): Identity[] {
  const { agent: last, windows } = parseObject(readSmallFile(pathOf(sessionId, env)) ?? '') ?? {}
  const processes = [last, ...(Array.isArray(windows) ? (windows as unknown[]) : [])]
    .map(parseIdentity)
    .filter((process) => process !== undefined && liveness(process) !== 'dead') as Identity[]
  const candidates = agent === null ? processes : [agent, ...processes]
  return candidates.filter(
    (process, index) => candidates.findIndex((other) => isSameProcess(other, process)) === index,
  )
}

export function readPrompt(sessionId: string, env: NodeJS.ProcessEnv): string | undefined {
  const words = parseObject(readSmallFile(pathOf(sessionId, env)) ?? '')?.words
  return isString(words) && words !== '' ? words : undefined
}

export function forgetPrompt(sessionId: string, env: NodeJS.ProcessEnv): void {
  ifPossible(() => unlinkSync(pathOf(sessionId, env)))
}

/** A session that has been given a prompt, the process of its agent, and where that works. */
interface PromptedSession {
  sessionId: string
  agent: Identity
  words: string
  origin?: ClaimOrigin
  /** When the prompt was given, in milliseconds since the epoch. */
  at: number
}

/** The sessions of living agents on this machine, as far as their hooks keep prompts. */
export function promptedSessions(env: NodeJS.ProcessEnv): PromptedSession[] {
  const prompts = promptsIn(stintHome(env))
  return (ifPossible(() => readdirSync(prompts)) ?? []).filter(isSessionId).flatMap((sessionId) => {
    const path = join(prompts, sessionId)
    const { agent, words, origin } = parseObject(readSmallFile(path) ?? '') ?? {}
    const identity = parseIdentity(agent)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (identity === undefined || !isString(words) || stat === undefined || liveness(identity) === 'dead')
      return []
    return [{ sessionId, agent: identity, words, origin: parseOrigin(origin), at: Math.round(stat.mtimeMs) }]
  })
}

/** Removes the prompts of dead agents, and what a killed hook has left. */
export function sweepPrompts(home: string): void {
  const prompts = promptsIn(home)
  for (const name of ifPossible(() => readdirSync(prompts)) ?? []) {
    const agent = parseIdentity(parseObject(readSmallFile(join(prompts, name)) ?? '')?.agent)
    if (agent === undefined || liveness(agent) === 'dead') ifPossible(() => unlinkSync(join(prompts, name)))
  }
}

/** A session that an agent's hooks have told stint about; without words if they are not kept. */
export type AgentSession = Pick<PromptedSession, 'sessionId' | 'agent' | 'words'>

/**
 * Whether an agent has started this process: a variable names its session, or its process is above this one.
 * Cursor and VS Code set no variable, and are found only if their hooks have told stint about a session.
 */
export const isBelowAgent = async (): Promise<boolean> =>
  readDescent(process.pid).sessions.length > 0 || (await agentSessions(homeStore())).length > 0

/**
 * The sessions of the nearest process above this one that is an agent. An agent with several
 * sessions passes one of them on in a variable, or does not say which one it is.
 */
export async function agentSessions(store: LeaseStore): Promise<AgentSession[]> {
  const { machine, processes, sessions: idsInVariables } = readDescent(process.pid)
  const candidates = await sessionsOfHooks(store)
  for (const ancestor of processes) {
    const sessions = candidates.filter(({ agent }) => isSameProcess(agent, { ...machine, ...ancestor }))
    const inVariable = sessions.filter(({ sessionId }) => idsInVariables.includes(sessionId))
    if (sessions.length > 0) return inVariable.length === 1 ? inVariable : sessions
  }
  return []
}

/** Hooks keep the prompts of their sessions, and claim for them. */
async function sessionsOfHooks(store: LeaseStore): Promise<AgentSession[]> {
  const { targets } = await allClaims(store)
  const claiming = targets
    .flatMap(({ claims }) => claims)
    // Hooks name the agent of their claims. A subagent has the process of its session.
    .filter(({ origin, ancestors }) => origin?.agent !== undefined && ancestors === undefined)
    .flatMap(({ session_id, holders }) =>
      holders.map((agent) => ({ sessionId: session_id, agent, words: '' })),
    )
  const all: AgentSession[] = [...promptedSessions(process.env), ...claiming]
  return all.filter(({ sessionId }, index) => all.findIndex((each) => each.sessionId === sessionId) === index)
}
