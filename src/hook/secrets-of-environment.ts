/** Variables whose values are nobody's business. */
const secretName = /TOKEN|SECRET|PASSWORD|_KEY$/i

/** A shorter value is no secret, and would be found in any text. */
const minLength = 6

/** A text without the values of secret variables. */
export function withoutSecrets(text: string, env: NodeJS.ProcessEnv = process.env): string {
  let clean = text
  // Only the values that matter are asked for: each is a call into Node.
  for (const name of Object.keys(env)) {
    const value = secretName.test(name) ? env[name] : undefined
    if (value === undefined || value.length < minLength) continue
    clean = clean.replaceAll(value, `<secret:env:${name}>`)
  }
  return clean
}
