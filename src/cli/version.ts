/** The same as in package.json; a test keeps them together. */
export const version = '0.1.0'
