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
  /** Does it; may return a better text, with what only the doing has shown. */
  apply(): Promise<string | void>
}

/** A step as answers show it. */
export interface StepData extends Pick<Step, 'name' | 'path' | 'text'> {
  is_due: boolean
  is_done: boolean
  error: { code: string; message: string } | null
}

export const describeStep = ({ name, path, text, isDue }: Step): StepData => ({
  name,
  path,
  text,
  is_due: isDue,
  is_done: false,
  error: null,
})

/** Makes the steps one by one. A step that fails does not keep the others from being made. */
export async function applySteps(
  steps: readonly Step[],
  { signal, onDone }: { signal: AbortSignal; onDone: (step: StepData) => void },
): Promise<StepData[]> {
  const results: StepData[] = []
  for (const step of steps) {
    signal.throwIfAborted()
    const data = describeStep(step)
    try {
      data.text = (await step.apply()) ?? step.text
      data.is_done = true
    } catch (error) {
      if (signal.aborted) throw error
      const code = error instanceof StintError ? error.code : 'UNEXPECTED'
      data.error = { code, message: errorMessage(error) }
    }
    onDone(data)
    results.push(data)
  }
  return results
}
