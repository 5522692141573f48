/** The effective user id; -1 where the platform has none (Windows), as `lstat` reports 0 for everybody there. */
export const geteuid = (): number => process.geteuid?.() ?? 0
