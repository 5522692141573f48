/** The door of what is known about the agents on this machine: which ones, and what dead sessions left. */
export { findAgents, type InstalledAgent } from './installed-agents.ts'
export { findLeftFiles, type LeftFile, removeLeftFiles } from './left-files.ts'
export { LivingSessions, type RunningAgent } from './living-sessions.ts'
export { endOrphans, findOrphans, type OrphanedProcess } from './orphaned-processes.ts'
export { type AgentWorktree, findWorktrees } from './worktrees.ts'
