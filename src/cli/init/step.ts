import { errorMessage, StintError } from '../../base/errors/stint-error.ts'

/** One thing that `stint init` sets up or takes back. */
export interface Step {
  name: 'hooks' | 'points' | 'vault' | 'completion' | 'timer' | 'mcp' | 'data'
  /** The file or directory that it is about; null if there is none. */
  path: string | null
  /** False if everything is in place already. */
  isDue: boolean
  /** What it does, in the words of a plan: "put hooks into …". */
  text: string
  /** Does it; returns what was done, in a few words. */
  apply(): Promise<string>
}

/** A step as answers show it; `done` is null for one that was not made. */
export interface StepData extends Pick<Step, 'name' | 'path' | 'text'> {
  is_due: boolean
  done: string | null
  error: { code: string; message: string } | null
}

export const describeStep = ({ name, path, text, isDue }: Step): StepData => ({
  name,
  path,
  text,
  is_due: isDue,
  done: null,
  error: null,
})

/** Makes the steps one by one. A step that fails is reported at the end, after all others were made. */
export async function applySteps(
  steps: readonly Step[],
  { signal, onDone }: { signal: AbortSignal; onDone: (step: StepData) => void },
): Promise<StepData[]> {
  const results: StepData[] = []
  for (const step of steps) {
    signal.throwIfAborted()
    const data = describeStep(step)
    try {
      data.done = await step.apply()
    } catch (error) {
      if (signal.aborted) throw error
      data.error = {
        code: error instanceof StintError ? error.code : 'UNEXPECTED',
        message: errorMessage(error),
      }
    }
    onDone(data)
    results.push(data)
  }
  return results
}

/** Throws `PARTIAL_FAILURE` if a step has failed; `data` is the answer. */
export function assertDone(steps: readonly StepData[], data: object): void {
  const failures = steps.filter(({ error }) => error !== null)
  if (failures.length === 0) return
  const messages = failures.map(({ error }) => `${error?.code}: ${error?.message}`)
  throw new StintError('PARTIAL_FAILURE', messages.join('; '), { data })
}
