/** Where the environment puts the way to the running test's scratch: a test file has globals and modules of its own. */
export const scratchKey = Symbol.for('stint.jest')
