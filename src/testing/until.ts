import { ok } from 'node:assert/strict'

/** Waits for a condition, not for a time; the bound only ends what would hang. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await condition());) {
    ok(Date.now() < end, `still not so: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
