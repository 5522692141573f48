import { shown } from './format.ts'

/** Fields that say what an event is about, the best first. */
const tellingFields = [
  'text',
  'message',
  'prompt',
  'title',
  'command',
  'summary',
  'content',
  'tool_name',
  'tool',
  'name',
  'path',
  'file_path',
  'ext',
]

/** One line that says what an event is about: its telling field, or its JSON. */
export function eventText(data: unknown): string {
  if (typeof data === 'string') return shown(data)
  if (typeof data !== 'object' || data === null) return data === undefined ? '' : shown(String(data))
  const fields = data as Record<string, unknown>
  const telling = tellingFields.map((name) => fields[name]).find((value) => typeof value === 'string')
  return shown(typeof telling === 'string' ? telling : JSON.stringify(data))
}

/** The type of an event, in words for those of stint itself. */
export const typeText = (type: string): string =>
  type === 'stint.turn' ? 'Turn' : type === 'stint.slot' ? 'Slot' : shown(type, 60)
