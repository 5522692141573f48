import type { Scratch } from './scratch.ts'

/** What programs take for the temp directory, by whichever name they know it. */
export const tmpdirVariables = (path: string): Record<string, string> => ({
  TMPDIR: path,
  TEMP: path,
  TMP: path,
})

/** The environment that a run gives to its children. `tmp` is their temp directory: the scratch itself, or a directory in it. */
export const scratchVariables = (
  { path, root, requestId }: Scratch,
  tmp: string = path,
): Record<string, string> => ({
  ...tmpdirVariables(tmp),
  STINT_TMP_DIR: path,
  STINT_TMP_ROOT: root.tmp,
  STINT_REQUEST_ID: requestId,
})
