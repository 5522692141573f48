import { maxInlineBytes } from '../log/blobs.ts'
import { encodeBlobBody, encodeBody, encodeField } from '../log/codec.ts'
import type { BlobName } from '../log/record.ts'
import type { Entry } from '../driver.ts'

export interface BodyOptions {
  /** The mark of an entry that a visitor has left. */
  mark?: string
  /** Data over this size goes to a blob. */
  inlineBytes?: number
}

/** What the line of an entry says. Large data is put into a blob first: until it is on disk, no line may name it. */
export function bodyOf(
  { type, json, slot }: Entry,
  put: (json: string) => BlobName,
  { mark, inlineBytes = maxInlineBytes }: BodyOptions = {},
): string {
  const body = json.length > inlineBytes ? encodeBlobBody(type, put(json)) : encodeBody(type, json)
  const fields = [
    slot === undefined ? '' : encodeField('slot', slot),
    mark === undefined ? '' : encodeField('spool', mark),
  ]
  return body + fields.join('')
}
