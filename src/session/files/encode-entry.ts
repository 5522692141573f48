import { maxInlineBytes } from '../log/blobs.ts'
import { encodeBlobBody, encodeBody, encodeField } from '../log/codec.ts'
import type { BlobName } from '../log/record.ts'
import type { Entry } from '../driver.ts'

/**
 * Encodes the part of a line that does not depend on when it is written. Data over `inlineBytes` goes into a blob first:
 * until the blob is on disk, no line may name it.
 */
export function bodyOf(
  { type, json, slot, spool }: Entry,
  put: (json: string) => BlobName,
  inlineBytes = maxInlineBytes,
): string {
  let body = json.length > inlineBytes ? encodeBlobBody(type, put(json)) : encodeBody(type, json)
  if (slot !== undefined) body += encodeField('slot', slot)
  if (spool !== undefined) body += encodeField('spool', spool)
  return body
}
