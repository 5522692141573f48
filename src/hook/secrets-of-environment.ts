/** Variables whose values are nobody's business. */
const secretName = /TOKEN|SECRET|PASSWORD|_KEY$/i

/** A shorter value is no secret, and would be found in any text. */
const minLength = 6

/** A text without the values of secret variables. */
export function withoutSecrets(text: string, env: NodeJS.ProcessEnv = process.env): string {
  let clean = text
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value.length < minLength || !secretName.test(name)) continue
    clean = clean.replaceAll(value, `<secret:env:${name}>`)
  }
  return clean
}
