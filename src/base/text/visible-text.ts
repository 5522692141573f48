/**
 * Text that anybody may have written, such as a file name or a record in a scratch, made safe to show: whatever a terminal would obey or hide is
 * written out, and there is an end to it.
 */
export function visibleText(text: string, maxLength = 300): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return short.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}
