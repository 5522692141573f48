import type { Target } from './target.ts'

/** What is left for a person to do after an installation. */
export function nextSteps(targets: readonly Target[]): string[] {
  const agents = new Set(targets.map(({ agent }) => agent))
  return [
    ...(agents.has('codex') ? ['Codex runs new hooks only when you trust them: enter /hooks in Codex.'] : []),
    ...(agents.has('git') ? [] : ['`stint hook install git` guards the commits of a repository, too.']),
    '`stint hook doctor` shows that they work.',
  ]
}
