/** How far an audit log had come, as something outside of it says. */
export interface Anchor {
  count: number
  head: string
}

const stamp = /,"audit":\{"count":(\d{1,15}),"head":"([0-9a-f]{64})"\},"crc":"[0-9a-f]{8}"\}$/

/** The anchor on a line of the journal, if it has one. Nothing in its data can look like it: there, another brace comes after it. */
export function anchorOn(line: Buffer): Anchor | undefined {
  const match = stamp.exec(line.toString('latin1', Math.max(0, line.length - 160)))
  return match === null ? undefined : { count: Number(match[1]), head: match[2] as string }
}

/** The one that says more. */
export const furthest = (...anchors: (Anchor | undefined)[]): Anchor | undefined =>
  anchors.reduce(
    (most, each) => (each !== undefined && each.count > (most?.count ?? 0) ? each : most),
    undefined,
  )
