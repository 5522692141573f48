// Text as people and models write it. A long run of one letter would be unlike any record.
const sentence = 'The tests pass now; I moved the check into parse.ts (line 42), since both callers need it. '

export const prose = (length) => sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length)
