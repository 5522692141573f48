/** What a hook has to say about an event. */
export type Verdict = { block: false } | { block: true; reason: string }

export const pass: Verdict = { block: false }

/**
 * What a fault of our own comes to. A lock that stands in the way because it is itself broken is worse than none, so the call goes on, unless the
 * user wants it to fail closed. `choice` is how they have said that.
 */
export const onFault = (failClosed: boolean, choice: string, fault: string): Verdict =>
  failClosed
    ? {
        block: true,
        reason: `stint could not find out whether another session holds this workspace (${fault}), and ${choice} says to refuse then. Tell the user: \`stint hook doctor\` shows what is wrong.`,
      }
    : pass
