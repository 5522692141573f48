import { StintError } from '../base/errors/stint-error.ts'
import { succeeds } from '../base/errors/if-possible.ts'
import {
  FormSearch,
  formsOf,
  isMonotonous,
  minSecretBytes,
  replaceSpans,
  type Form,
  type Span,
} from './forms.ts'
import { checkSecretRef, formatSecretRef, maxSecretBytes, type SecretRef } from './secret-ref.ts'
import { mayHoldToken, tokensIn } from './token-shapes.ts'

/** Too short to contain a secret. */
const lastResort = '*****'
const maxRounds = 4

/**
 * Removes secrets from everything that is written: registered values, in every form of docs/secrets.md, and,
 * unless `masksTokens` is false, strings that look like a well-known token.
 *
 * @example
 * const gate = new SecretGate()
 * gate.register({ kind: 'env', name: 'TOKEN' }, 'correct horse')
 * gate.stringify({ said: 'correct horse' }) // {"said":"<secret:env:TOKEN>"}
 */
export class SecretGate {
  masksTokens = true
  readonly #refs: string[] = []
  readonly #values = new Set<string>()
  readonly #forms: Form[] = []
  /** Built by the first search after a registration. */
  #search: FormSearch | undefined

  /** The number of registered values. */
  get size(): number {
    return this.#values.size
  }

  /** Removes the value from now on. Throws for a value that would be found everywhere by chance. */
  register(ref: SecretRef, value: string): void {
    const name = formatSecretRef(checkSecretRef(ref))
    // Programs trim a value before they use it.
    const secret = value.trim()
    if (this.#values.has(secret)) return
    checkValue(name, secret)
    if ([...sessionVocabulary, name].some((text) => text.includes(secret))) {
      throw unfit(name, 'is its own name, or a word that every session writes')
    }
    const owner = this.#refs.push(name) - 1
    this.#values.add(secret)
    for (const form of formsOf(secret, owner)) this.#forms.push(form)
    this.#search = undefined
  }

  /**
   * Returns the JSON of a value with every registered secret and every token in its strings, keys and numbers
   * replaced; `null` for undefined. Throws when `JSON.stringify` does.
   */
  stringify(value: unknown): string {
    return this.json(JSON.stringify(value) ?? 'null')
  }

  /** Does the same with the output of `JSON.stringify`: returns it as it is if nothing is replaced. */
  json(json: string): string {
    return this.#mayHold(json) ? rewriteJson(json, (text) => this.text(text)) : json
  }

  /** Returns a plain string with every registered secret and every token replaced. */
  text(text: string): string {
    let result = text
    for (let round = 0; round < maxRounds; round++) {
      if (!this.#mayHold(result)) return result
      const spans = [...this.#known.spansIn(result), ...(this.masksTokens ? tokensIn(result) : [])]
      if (spans.length === 0) return result
      // A placeholder and its neighbours may form another secret, so search the result again.
      result = replaceSpans(result, spans, (span) => this.#placeholder(span))
    }
    return lastResort
  }

  /** Names every registered secret and every kind of token in a string: `env:TOKEN`, `github-token`. */
  kindsIn(text: string): string[] {
    if (!this.#mayHold(text)) return []
    const registered = this.#known.spansIn(text).flatMap(({ owner }) => this.#refs[owner ?? -1] ?? [])
    return [...registered, ...(this.masksTokens ? tokensIn(text).map(({ kind = 'token' }) => kind) : [])]
  }

  /** Throws `SECRET_LEAK` if finished bytes contain a registered secret; the message names the `subject`. */
  assertClean(bytes: Uint8Array | string, subject: string): void {
    if (this.size === 0) return
    const text = typeof bytes === 'string' ? bytes : utf8.decode(bytes)
    const leak = this.#known.spansIn(text).find((span) => !isWholeNumberField(text, span))
    if (leak?.owner === undefined) return
    const ref = this.#refs[leak.owner]
    throw new StintError('SECRET_LEAK', `${subject} would contain the value of ${ref}, and was not written`, {
      detail: `secret=${ref}`,
    })
  }

  get #known(): FormSearch {
    this.#search ??= new FormSearch(this.#forms)
    return this.#search
  }

  #mayHold(text: string): boolean {
    return (this.size > 0 && this.#known.mayHold(text)) || (this.masksTokens && mayHoldToken(text))
  }

  /** Names the secret or the kind of token, unless that name itself contains a secret. */
  #placeholder({ owner, kind }: Span): string {
    const [full, brief] =
      owner === undefined ? [`<masked:${kind}>`, '<masked>'] : [`<secret:${this.#refs[owner]}>`, '<secret>']
    return this.#known.spansIn(full).length === 0 ? full : brief
  }
}

/**
 * The words and punctuation in the files of every session. A secret that is part of these cannot be removed
 * from them: replacing it would break the files.
 */
const sessionVocabulary: readonly string[] = [
  '{"seq":,"at":,"group":,"epoch":,"type":"","data":,"blob":{"sha256":"","bytes":,"slot":{"ext":"","version":""',
  '},"masked":true,"continued":true,"audit":{"count":,"head":""},"prev":"","hash":"","crc":""}',
  '{"act":"","action":"","subject":"","key":"","ok":true,"ok":false,"result":,"error":{"code":"","message":""},"detail":',
  '{"schema":,"session_id":"","store":"","created_at":"","revisions":[{"rev":,"kind":"","tool":"","title":"","workspace":""',
  ',"mode":"","secrets":[{"kind":"","name":""}],"mask":"registered","mask":"tokens","pid":,"host":"","turns":,"from":null}]',
  ',"slots":,"unsettled":,"value":',
  '":"","":[],"":{},"":[""],"":[{"":""},{"":""}],"":["",""],"":"","":{"":{"":{}}}',
  'stint.slot stint.turn intent outcome create resume annotate close fork repair import writer visitor purpose holder',
  'session sessions manifest journal snapshot snapshots revision blobs segment quarantine',
  'active closed crashed locked damaged machine process started hostname signal',
  '<secret:env:> <secret:file:/> <masked:> <secret> <masked>',
]

// Invalid bytes become replacement characters, so the text beside them is still searched.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

function checkValue(name: string, value: string): void {
  const bytes = Buffer.byteLength(value)
  if (bytes < minSecretBytes) {
    throw new StintError('SECRET_TOO_SHORT', `the value of ${name} has fewer than ${minSecretBytes} bytes`)
  }
  if (bytes > maxSecretBytes) throw unfit(name, `is larger than ${maxSecretBytes} bytes`)
  if (isMonotonous(value)) throw unfit(name, 'repeats one or two characters')
}

const unfit = (name: string, why: string): StintError =>
  new StintError('SECRET_UNSUPPORTED', `the value of ${name} cannot be kept out of files: it ${why}`)

/**
 * True if the match is the whole number of a JSON field. A size, count or time that stint wrote may equal a
 * secret of a few digits; writing it reveals nothing.
 */
const isWholeNumberField = (text: string, { start, end }: Span): boolean =>
  text.endsWith('":', start) && /^\d{1,15}$/.test(text.slice(start, end)) && /[,}]/.test(text.charAt(end))

/** The start of a string, a whole number, or a brace. */
const token = /"|-?\d[\d.eE+-]*|[{}]/g

/**
 * Rewrites every string, key and number in the output of `JSON.stringify`; a number that changes becomes a
 * string. Works on the JSON, since that is what would be written, and at any depth.
 */
export function rewriteJson(json: string, rewrite: (text: string) => string): string {
  /** The keys of each open object. */
  const keys: Set<string>[] = []
  let result = ''
  let done = 0
  token.lastIndex = 0
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const { index: start, 0: found } = match
    if (found === '{') keys.push(new Set())
    else if (found === '}') keys.pop()
    else {
      const isString = found === '"'
      const end = isString ? endOfString(json, start) : start + found.length
      const text = isString ? (JSON.parse(json.slice(start, end)) as string) : found
      const isKey = isString && json[end] === ':'
      const rewritten = isKey ? addKey(keys.at(-1), rewrite(text)) : rewrite(text)
      if (rewritten !== text) {
        result += json.slice(done, start) + JSON.stringify(rewritten)
        done = end
      }
      token.lastIndex = end
    }
  }
  return result + json.slice(done)
}

function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0
    while (json[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return json.length
}

/** Keeps keys distinct: two keys may differ only in the secret that was replaced. */
function addKey(keys: Set<string> | undefined, key: string): string {
  let unique = key
  for (let count = 2; keys?.has(unique); count++) unique = `${key} (${count})`
  keys?.add(unique)
  return unique
}

const secretName = /TOKEN|SECRET|PASSWORD|_KEY$/i
/** `MAX_TOKENS=128000` counts tokens. */
const tokenCount = { name: /TOKENS/i, value: /^\d+$/ }
/** `SECRETS_DIR=/run/secrets` and `SSH_KEY_FILE=~/.ssh/id` say where a secret is. */
const secretPath = { name: /_(?:DIR|FILE|PATH)$/i, value: /^[/~.]/ }

/** A secret whose value is known. */
export interface KnownSecret {
  ref: SecretRef
  value: string
}

/**
 * Registers the values of variables whose names say that they hold a secret: `*TOKEN*`, `*SECRET*`,
 * `*PASSWORD*`, `*_KEY`. Leaves out token counts, paths, and what a gate refuses, such as `aaaaaaaa`.
 */
export function registerEnvironmentSecrets(env: NodeJS.ProcessEnv = process.env): {
  gate: SecretGate
  secrets: KnownSecret[]
} {
  const gate = new SecretGate()
  // Each read of `process.env` is a call into Node, so test the name first.
  const secrets = Object.keys(env)
    .filter((name) => secretName.test(name))
    .map((name): KnownSecret => ({ ref: { kind: 'env', name }, value: env[name] ?? '' }))
    .filter(({ ref, value }) => isSecret(ref.name, value) && succeeds(() => gate.register(ref, value)))
  return { gate, secrets }
}

const isSecret = (name: string, value: string): boolean =>
  ![tokenCount, secretPath].some((not) => not.name.test(name) && not.value.test(value))
