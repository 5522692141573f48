/** For whom hooks are installed: this user everywhere, everyone in this project, or this user in this project. */
export type Place = 'user' | 'project' | 'local'

export const allPlaces: readonly Place[] = ['user', 'project', 'local']

/** Do others get what goes into this place? */
export const isShared = (place: Place): boolean => place === 'project'
