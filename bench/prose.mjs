// Text as people and models write it: words, not one long run of a letter, which no record is made of.
const sentence = 'The tests pass now; I moved the check into parse.ts (line 42), since both callers need it. '

export const prose = (length) => sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length)
