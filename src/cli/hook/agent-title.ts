import { hosts } from '../../hook/hosts.ts'

/** An agent as people call it. */
export const titleOf = (agent: string): string => hosts[agent as keyof typeof hosts]?.title ?? agent
