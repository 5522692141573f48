import { StintError } from '../base/errors/stint-error.ts'
import { type Keep, keepPolicies } from '../scratch/index.ts'

/** The reaction to a test that leaves files in `TMPDIR`, outside its scratch. */
export type Leaks = 'off' | 'warn' | 'fail'

const leakPolicies: readonly Leaks[] = ['off', 'warn', 'fail']

export interface TestOptions {
  /** Whose files outlive the run for a day: none (the default), those of failing tests, or all. */
  keep?: Keep
  /** Default `warn`. */
  leaks?: Leaks
}

/** Options of a single test; `leaks` applies to whole files. */
export type KeepOptions = Pick<TestOptions, 'keep'>

/** The policy for kept files. The environment overrides the code, because it is set for this one run. */
export const keepOf = (options: TestOptions): Keep =>
  choice('STINT_TEST_KEEP', keepPolicies, 'keep', options.keep) ?? 'never'

/** The policy for leaks. The environment overrides the code. */
export const leaksOf = (options: TestOptions): Leaks =>
  choice('STINT_TEST_LEAKS', leakPolicies, 'leaks', options.leaks) ?? 'warn'

function choice<Value extends string>(
  variable: string,
  known: readonly Value[],
  option: string,
  given: Value | undefined,
): Value | undefined {
  const inEnvironment = process.env[variable]
  const [name, value] = inEnvironment ? [variable, inEnvironment] : [option, given]
  if (value === undefined || known.includes(value as Value)) return value as Value | undefined
  throw new StintError(
    'ARG_ERROR',
    `${name} must be one of ${known.join(', ')}, not ${JSON.stringify(value)}`,
    { hint: 'See docs/testing.md.' },
  )
}
