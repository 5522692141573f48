import type { Span } from './forms.ts'

/**
 * Where a token may begin: not after a letter or digit, even if up to 8 `joiners` are between them, unless it
 * is the last character of an escape such as `\n`, `\u003d` or `%3D`. `exceptEscaped`: not after these.
 */
const boundary = (joiners: string, exceptEscaped = ''): string =>
  String.raw`(?:(?<![A-Za-z0-9]${joiners}{0,8})|(?<=\\[nrtbf])` +
  String.raw`|(?<=\\u${exceptEscaped}[\dA-Fa-f]{4})|(?<=%${exceptEscaped}[\dA-Fa-f]{2}))`

/** Not inside kebab-case words such as `task-sk-…`, nor in base64 of the URL alphabet. */
const start = boundary('[_-]')
/** For tokens that have only characters of base64: not after its `+` and `/` either, escaped or not. */
const outsideBase64 = boundary(String.raw`[\\/+_-]`, '(?!(?:00)?2[bBfF])')
/** Base64 rarely stops where such a token ends. */
const endOutsideBase64 = '(?![A-Za-z0-9+])'
/** Random characters include capitals or digits; lower-case names of variables and files do not. */
const random = (least: number): string => String.raw`(?=[a-z_-]{0,40}[\dA-Z])[\w-]{${least},}`

/** The prefix of each known token and the pattern of its rest. */
const shapes: readonly (readonly [kind: string, prefix: string, rest: string, boundary?: string])[] = [
  ['anthropic-key', 'sk-ant-', String.raw`[a-z]{2,10}\d\d-[\w-]{20,}`],
  ['openai-key', 'sk-(?:proj|svcacct|admin|None)-', random(20)],
  ['openrouter-key', 'sk-or-v1-', '[0-9a-f]{32,}'],
  ['api-key', 'sk-', String.raw`(?=[a-z]{0,40}[\dA-Z])[A-Za-z0-9]{20,}`],
  ['github-token', 'gh[pousr]_', '[A-Za-z0-9]{36,}'],
  ['github-token', 'github_pat_', String.raw`\w{36,}`],
  [
    'gitlab-token',
    'gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct)-',
    String.raw`${random(20)}(?:\.[\w-]{2,})*`,
  ],
  ['aws-key-id', 'A(?:KIA|SIA|BIA|CCA)', `[A-Z0-9]{16}${endOutsideBase64}`, outsideBase64],
  ['slack-token', 'xox[abeprs]-', String.raw`(?=[A-Za-z-]{0,40}\d)[A-Za-z0-9-]{15,}`],
  ['slack-token', 'xapp-', String.raw`\d-[A-Za-z0-9-]{20,}`],
  ['google-key', 'AIza', String.raw`[\w-]{35}${endOutsideBase64}`, outsideBase64],
  ['google-token', String.raw`(?:GOCSPX-|ya29\.)`, random(20)],
  ['npm-token', 'npm_', '[A-Za-z0-9]{36,}'],
  ['pypi-token', 'pypi-AgE', String.raw`[\w-]{40,}`],
  ['supabase-key', 'sb_secret_', random(16)],
  ['supabase-key', 'sbp_', '[0-9a-f]{40}'],
  ['stripe-key', '[sr]k_(?:live|test)_', '[A-Za-z0-9]{16,}'],
  ['stripe-key', 'whsec_', '[A-Za-z0-9+/]{24,}=*'],
  ['huggingface-token', 'hf_', '[A-Za-z0-9]{30,}'],
  ['groq-key', 'gsk_', '[A-Za-z0-9]{40,}'],
  ['xai-key', 'xai-', '[A-Za-z0-9]{60,}'],
  ['sendgrid-key', String.raw`SG\.`, String.raw`[\w-]{16,}\.[\w-]{32,}`],
  ['digitalocean-token', 'do[opr]_v1_', '[0-9a-f]{64}'],
  ['docker-token', 'dckr_[po]at_', random(20)],
  ['vault-token', String.raw`hv[sbr]\.`, random(20)],
  ['databricks-token', 'dapi', `[0-9a-f]{32}${endOutsideBase64}`, outsideBase64],
  ['linear-key', 'lin_api_', '[A-Za-z0-9]{32,}'],
  ['shopify-token', 'shp(?:at|ca|pa|ss)_', '[0-9a-fA-F]{32}'],
  ['age-key', 'AGE-SECRET-KEY-1', '[0-9A-Z]{58}'],
  ['jwt', 'eyJ', String.raw`[\w-]{7,}\.eyJ[\w-]{4,}\.[\w-]{16,}`],
  ['jwt', 'eyJ', String.raw`[\w-]{7,}\.[\w-]*\.[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}`],
]

/** Every token has a run of at least 20 such characters; most texts have none. */
const longWord = /[\w.-]{20}|PRIVATE KEY/

/** Compiled at its first use, which most hooks never come to. */
let compiled: { prefixes: RegExp; patterns: { kind: string; pattern: RegExp }[] } | undefined

const compile = (): NonNullable<typeof compiled> => ({
  prefixes: new RegExp([...new Set(shapes.map(([, prefix]) => prefix)), 'PRIVATE KEY'].join('|')),
  patterns: shapes.map(([kind, prefix, rest, boundary = start]) => ({
    kind,
    // The prefix comes first, because the engine finds a few letters faster than a place that fits.
    pattern: new RegExp(`${prefix}(?<=${boundary}${prefix})${rest}`, 'g'),
  })),
})

/** Fast check: false means that the text contains no token, true that it may contain one. */
export const mayHoldToken = (text: string): boolean =>
  longWord.test(text) && (compiled ??= compile()).prefixes.test(text)

/** The spans of all tokens and private keys. */
export function tokensIn(text: string): Span[] {
  if (!mayHoldToken(text)) return []
  const { patterns } = (compiled ??= compile())
  const tokens = patterns.flatMap(({ kind, pattern }) =>
    Array.from(text.matchAll(pattern), ({ index, 0: { length } }) => ({
      start: index,
      end: index + length,
      owner: undefined,
      kind,
    })),
  )
  return [...tokens, ...privateKeysIn(text)]
}

const pemStart = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const pemEnd = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const pemBody = /^(?:[A-Za-z0-9+/=\s]|\\{1,7}[nrt/])*/
/** The most characters that are searched for the end of a truncated key. */
const maxPemBody = 1 << 16

/** The spans of whole and truncated keys. A header without key material after it is not a key. */
function privateKeysIn(text: string): Span[] {
  return [...text.matchAll(pemStart)].flatMap(({ index: start, 0: { length } }) => {
    const bodyStart = start + length
    const end = endOfKey(text, bodyStart)
    const hasKey = /[A-Za-z0-9+/]{16}/.test(text.slice(bodyStart, end))
    return hasKey ? [{ start, end, owner: undefined, kind: 'private-key' }] : []
  })
}

function endOfKey(text: string, bodyStart: number): number {
  pemEnd.lastIndex = text.indexOf('-----', bodyStart)
  const last = pemEnd.lastIndex < 0 ? null : pemEnd.exec(text)
  if (last !== null) return last.index + last[0].length
  const body = pemBody.exec(text.slice(bodyStart, bodyStart + maxPemBody))
  return bodyStart + (body?.[0].length ?? 0)
}
