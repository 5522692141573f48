/** The global that passes `scratch()` to a test file, which has modules of its own. */
export const scratchKey = Symbol.for('stint.jest')
