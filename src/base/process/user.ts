/** The effective user id; 0 where the platform has none (Windows), as `lstat` reports for everybody there. */
export const geteuid = (): number => process.geteuid?.() ?? 0
