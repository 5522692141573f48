/** One of the two places that stint keeps things in. */
export type Role = 'home' | 'temp'

/** The variable that says where it is. */
export const variableOf: Readonly<Record<Role, string>> = { home: 'STINT_HOME', temp: 'STINT_TMP_ROOT' }
