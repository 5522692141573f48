import type { Tool } from './event.ts'

/** Under which name the tools of all hosts give the file they change. */
const pathFields = ['file_path', 'notebook_path', 'path', 'filePath', 'absolute_path', 'target_file']

/** Where a patch is, for tools that take one. */
const patchFields = ['command', 'input', 'patch', 'patchText']

/** The files that an edit names, as it names them: one, or all that its patch touches. None: nobody can say. */
export function touchedPaths({ input }: Pick<Tool, 'input'>): string[] {
  const named = pathFields.flatMap((field) => {
    const value = input[field]
    return typeof value === 'string' && value !== '' ? [value] : []
  })
  if (named.length > 0) return named.slice(0, 1)
  for (const field of patchFields) {
    const value = input[field]
    const files = typeof value === 'string' ? patchedFiles(value) : []
    if (files.length > 0) return files
  }
  return []
}

const header = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm

/** The files of a patch as Codex and Copilot write them. */
const patchedFiles = (patch: string): string[] => [
  ...new Set([...patch.matchAll(header)].map(([, file = '']) => file.trim())),
]
