/** One thing a driver must do; give it to any test runner. */
export interface ConformanceCase {
  title: string
  run: () => Promise<void>
}
