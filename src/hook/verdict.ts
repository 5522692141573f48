/** What a hook has to say about an event. */
export type Verdict = { block: false } | { block: true; reason: string }

export const pass: Verdict = { block: false }
