/** What writers have written down. */
export interface Claims {
  /** What each session was asked to take, whatever came of it. */
  tried: Map<string, Set<string>>
  /** Where each value that was acknowledged is said to be; 0 if that is not known. */
  acknowledged: Map<string, Map<string, number>>
  fenced: number
}

/** What a session has. */
export interface Found {
  id: string
  values: string[]
  epochs: number[]
}

/** A process that was killed may have been in the middle of a line. */
export function readClaims(logs: readonly string[]): Claims {
  const claims: Claims = { tried: new Map(), acknowledged: new Map(), fenced: 0 }
  for (const line of logs.flatMap((text) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n'))) {
    const [what, id = '', value = '', seq = '0'] = line.split(' ')
    if (what === 'fenced') claims.fenced += 1
    if (what === 'try') claims.tried.set(id, (claims.tried.get(id) ?? new Set()).add(value))
    if (what === 'ack')
      claims.acknowledged.set(
        id,
        (claims.acknowledged.get(id) ?? new Map<string, number>()).set(value, Number(seq)),
      )
  }
  return claims
}

/** Everything that is not as it should be. */
export function judge({ tried, acknowledged }: Claims, { id, values, epochs }: Found): string[] {
  const faults: string[] = []
  const places = new Map<string, number>()
  values.forEach((value, i) => {
    if (places.has(value)) faults.push(`${id}: ${value} is there twice`)
    if (!tried.get(id)?.has(value)) faults.push(`${id}: ${value} comes from nowhere`)
    places.set(value, i + 1)
    if ((epochs[i] ?? 0) < (epochs[i - 1] ?? 0))
      faults.push(`${id}: ${value} was written by one who had lost it`)
  })
  for (const [value, seq] of acknowledged.get(id) ?? []) {
    const place = places.get(value)
    if (place === undefined) faults.push(`${id}: ${value} was acknowledged and is not there`)
    else if (seq !== 0 && seq !== place) faults.push(`${id}: ${value} is ${place}, not ${seq}`)
  }
  return [...faults, ...disorder(id, values)]
}

/** What one caller writes, one after the other, comes in that order. */
function disorder(id: string, values: readonly string[]): string[] {
  const last = new Map<string, number>()
  return values.flatMap((value) => {
    const [pid, caller, n] = value.split('.')
    const who = `${pid}.${caller}`
    const before = last.get(who) ?? 0
    last.set(who, Number(n))
    return Number(n) < before ? [`${id}: ${value} comes after ${before}`] : []
  })
}
