/** The arguments with which a program only reads. */
export interface ReadingArguments {
  /** Matches the first word, if that is a subcommand. */
  first?: RegExp
  /** Matches an option that writes or starts a program; it counts wherever it stands, as what it may be. */
  never?: RegExp
  /** Matches every option, where nearly all others write. */
  options?: RegExp
  /** Checks the words from the first one that is no option, and the options before them. */
  operands?: (operands: readonly string[], options: readonly string[]) => boolean
}

/** A function checks all the words. */
export type ReadingProgram = ReadingArguments | ((words: readonly string[]) => boolean)

type Operands = NonNullable<ReadingArguments['operands']>

const none: Operands = (operands) => operands.length === 0
const atMostOne: Operands = (operands) => operands.length <= 1
const allMatch =
  (pattern: RegExp) =>
  (words: readonly string[]): boolean =>
    words.every((word) => pattern.test(word))

const onlyWord =
  (pattern: RegExp) =>
  ([word = '', ...more]: readonly string[]): boolean =>
    more.length === 0 && pattern.test(word)

const namesOf = (text: string): string[] => text.trim().split(/\s+/)

// A hook loads this file at every tool call, so each table is made when a command is first looked up in it.

let harmlessSedScript: RegExp | undefined

/** A script of sed that writes no file and runs no program: `10,20p`, `/^## /p; 5q`, `s/a/b/g`. */
function isHarmlessSedScript(script: string): boolean {
  // A bracket is excluded: versions of sed disagree whether the delimiter ends the pattern inside it.
  const pattern = String.raw`(?:[^/\\\n[]|\\[^\n])*`
  const address = String.raw`(?:\d+|\$|/${pattern}/)`
  const command = String.raw`(?:${address}(?:,(?:\+\d+|${address}))?)?\s*(?:[pqd=]|s/${pattern}/${pattern}/[gpI\d]*)`
  harmlessSedScript ??= new RegExp(String.raw`^\s*${command}\s*(?:[;\n]\s*${command}\s*)*$`)
  return harmlessSedScript.test(script)
}

/** sed with options before its script, or before each `-e SCRIPT`. */
function isHarmlessSed(words: readonly string[]): boolean {
  let at = 0
  let scripts = 0
  for (; words[at]?.startsWith('-'); at++) {
    const word = words[at] ?? ''
    if (!/^-[nEr]*e?$/.test(word) || word === '-') return false
    if (!word.endsWith('e')) continue
    if (!isHarmlessSedScript(words[++at] ?? '')) return false
    scripts += 1
  }
  const operands = words.slice(at)
  return allMatch(/^(?!-)/)(operands) && (scripts > 0 || isHarmlessSedScript(operands[0] ?? ''))
}

/**
 * zsh and bash evaluate numbers as arithmetic, which can run a command or set a variable:
 * `test -v 'x[$(rm file)]'`, `test PATH=1 -eq 1`.
 */
function isHarmlessTest(words: readonly string[]): boolean {
  const isNumeric = words.some((word) => /^-(?:eq|ne|lt|gt|le|ge|t)$/.test(word))
  return allMatch(isNumeric ? /^(?:\d*|!|-[a-uw-z]{1,2})$/ : /^(?!-v$)[\w./@:+=!~,-]*$/)(words)
}

/** In place of a number, zsh and bash take arithmetic; `%n` and `-v` set a variable. */
function isHarmlessPrintf([format = '', ...values]: readonly string[]): boolean {
  const isOfText = /^(?!-)(?:[^%]|%%|%[-\d.]*[sbq])*$/.test(format)
  return isOfText || (!format.startsWith('-') && allMatch(/^[\d.]*$/)(values))
}

/** An awk program writes through a redirection or a pipe; `@` calls a function by a computed name. */
const isHarmlessAwk = (words: readonly string[]): boolean =>
  words.every((word) =>
    word.startsWith('-') ? /^-[Fv]/.test(word) : !/>(?!=)|[|@`]|system|getline/.test(word),
  )

/** An operand of digits sets the clock. In `-Id`, the d is the value of -I, and takes no word. */
const isHarmlessDate = (words: readonly string[]): boolean =>
  words.every(
    (word, at) =>
      /^(?:\+|-[uR]+$|-u?I\w*$|-[dr]|--(?:date|iso-8601|reference|rfc-3339|utc)\b)/.test(word) ||
      (/^(?:-[dr]|--date|--reference)$/.test(words[at - 1] ?? '') && !/^(?:-|[\d.]+$)/.test(word)),
  )

/** -w and --web start a browser. */
const isHarmlessGh = ([subject = '', command = '', ...more]: readonly string[]): boolean =>
  isListed(subject, 'pr issue') &&
  isListed(command, 'view list checks diff') &&
  allMatch(/^(?!-\w*w|--web)/)(more)

/** No slash but that of a scope: npm would clone the repository `user/name`. */
const npmWord = /^(?:-[aglp]|--(?:all|depth|json|long|parseable)(?:=\w*)?|(?:@[\w-]+\/)?\w[\w.@^~-]*)$/

/** Programs that only print what they are given or find, with all options of every version that we know. */
export const printingPrograms =
  ': basename cat cd cksum cmp column comm cut df diff dirname du echo egrep expr false fgrep fold free ' +
  'getconf grep groups head hexdump id jq join locale ls lscpu md5sum nl nproc od paste pgrep printenv ps pwd ' +
  'readlink realpath rev seq sha1sum sha256sum sha512sum sleep stat strings sum tac tail tr true tty type uname ' +
  'uptime wc whereis which whoami zcat'

/** Whether a word is one of those in a text. A set would have to be made first, and an agent waits. */
export const isListed = (word: string, words: string): boolean =>
  !word.includes(' ') && ` ${words} `.includes(` ${word} `)

const only = (program: ReadingProgram, names: string): Readonly<Record<string, ReadingProgram>> =>
  Object.fromEntries(namesOf(names).map((name) => [name, program]))

let checked: Readonly<Record<string, ReadingProgram>> | undefined

/** Programs that only read with some arguments. */
export const checkedPrograms = (): Readonly<Record<string, ReadingProgram>> =>
  (checked ??= { ...versionPrograms(), ...scriptPrograms(), ...filePrograms(), ...remotePrograms() })

/** These run other programs, unless they only print their version. `python -v` and `make version` do more. */
const versionPrograms = (): Readonly<Record<string, ReadingProgram>> => ({
  ...only(onlyWord(/^(?:-v|--version)$/), 'bun cc clang gcc make node perl php ruby tsc'),
  ...only(onlyWord(/^(?:-V|--version)$/), 'cargo deno python python3 rustc'),
  ...only(onlyWord(/^--version$/), 'cmake java'),
  go: onlyWord(/^version$/),
})

/** Parts of a script. */
const scriptPrograms = (): Readonly<Record<string, ReadingProgram>> => ({
  '[': (words) => words.at(-1) === ']' && isHarmlessTest(words.slice(0, -1)),
  // With words, that of macOS runs a program.
  arch: (words) => words.length === 0,
  awk: isHarmlessAwk,
  date: isHarmlessDate,
  env: (words) => words.length === 0,
  exit: allMatch(/^\d+$/),
  hostname: { options: /^-[AdfIis]+$/, operands: none },
  printf: isHarmlessPrintf,
  sed: isHarmlessSed,
  // `set -k` would turn later arguments into variables.
  set: allMatch(/^(?:[-+][eux]*o?|pipefail|errexit|nounset|xtrace)$/),
  test: isHarmlessTest,
})

/** Files and processes. */
const filePrograms = (): Readonly<Record<string, ReadingProgram>> => ({
  base64: { never: /^-(?:\w*o|-o)/ },
  fd: { never: /^-(?:\w*[xX]|-exec)/ },
  // -C writes a file of magic numbers, -p sets the times of the file.
  file: { never: /^-(?:\w*[Cp]|-[cp])/ },
  find: { never: /^-(?:exec|ok|delete|fprint|fls)/ },
  // -o writes what less reads to a file, -k and -t may run a program, and so does `+!program`. The user
  // chose the preprocessor in LESSOPEN.
  less: allMatch(/^(?:[^-+]|-[eEfFgGiImMnNqrRsSX]+$)/),
  // -D may write the device cache.
  lsof: allMatch(/^(?:[^-]|-[abhlnNoOPRtUVwX]*(?:[cdFgipsTu](?:[\w:@^/][\w:.,@^*/-]*)?)?$)/),
  rg: { never: /^--(?:pre(?:=|$)|hostname-bin)/ },
  // GNU programs take every beginning of an option: `--ou` for `--output`, `--com` for `--compress-program`.
  sort: { never: /^-(?:\w*o|-o|-co)/ },
  // A colon in the name of the archive makes tar run rsh.
  tar: ([letters = '', archive = '', ...more]) =>
    /^-?[vzjJa]*t[vzjJa]*f$/.test(letters) && /^[^-:][^:]*$/.test(archive) && allMatch(/^[^-]/)(more),
  // -R runs tree with -o in each directory.
  tree: { never: /^-(?:\w*[oR]|-output)/ },
  // The second operand is the file that uniq writes.
  uniq: {
    options: /^-(?:[cdDiuz]+|[fsw]\d+|-(?:count|ignore-case|repeated|unique))$/,
    operands: atMostOne,
  },
  unzip: ([letters = '', ...more]) => /^-q?[lvZ]1?$/.test(letters) && allMatch(/^[^-]/)(more),
  // The second operand is the file that xxd writes, whatever it begins with. Its options have several
  // letters: `-ps` is one.
  xxd: (words) =>
    allMatch(/^-(?:[abeipu]|[cgls]\d+)$/)(words.slice(0, -1)) &&
    /^(?:[^-].*|-[abeipu]|-[cgls]\d+|)$/.test(words.at(-1) ?? ''),
})

/** What is kept elsewhere. */
const remotePrograms = (): Readonly<Record<string, ReadingProgram>> => ({
  docker: { first: /^(?:ps|logs|images|inspect)$/ },
  gh: isHarmlessGh,
  npm: (words) =>
    onlyWord(/^(?:-v|--version)$/)(words) ||
    (/^(?:ls|view)$/.test(words[0] ?? '') && allMatch(npmWord)(words)),
})

/** A remote with `::` in its name runs a program. */
const plainNames = /* @__PURE__ */ allMatch(/^[\w./-]+$/)

/** Options that make git list what matches its operands. */
const listing = /^-(?:l|-(?:list|contains|no-contains|merged|no-merged|points-at|get|get-all|get-regexp)\b)/

/** With an operand, `git branch` and `git tag` create something, unless they list what matches it. */
const onlyLists: Operands = (operands, options) =>
  operands.length === 0 || options.some((option) => listing.test(option))

/** git takes every beginning of an option, such as `--outpu`. */
const writesOrSigns = /^--(?:o$|ou|ext|show-s(?:i|$))/

let gitCommands: Readonly<Record<string, ReadingProgram>> | undefined

/** The subcommands of git that change no file outside `.git`, no ref and no configuration. */
export const readingGitCommands = (): Readonly<Record<string, ReadingProgram>> =>
  (gitCommands ??= {
    ...only(
      { never: writesOrSigns },
      `blame check-attr check-ignore cherry count-objects describe diff diff-files diff-index diff-tree
      for-each-ref fsck log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-ref
      status var version whatchanged`,
    ),
    bisect: { first: /^log$/ },
    branch: { options: refOptions, operands: onlyLists },
    // --filters runs the programs that attributes name.
    'cat-file': { never: /^--fi/ },
    config: {
      options:
        /^-(?:[lz]|-(?:get|get-all|get-regexp|global|list|local|name-only|null|show-origin|show-scope|system|worktree))$/,
      // `git config NAME` reads, `git config NAME VALUE` writes, whatever the value begins with.
      operands: ([first = '', second], options) =>
        onlyLists([first], options) ||
        first === 'get' ||
        (second === undefined && (first === 'list' || first.includes('.'))),
    },
    // -O and --open-files-in-pager start a program.
    grep: { never: /^-(?:\w*O|-o$|-op)/ },
    // -w and -i start a browser or another reader.
    help: { never: /^-(?:\w*[iw]|-[iw])/ },
    'ls-remote': {
      options: /^-(?:[htq]+|-(?:branches|exit-code|get-url|heads|quiet|refs|sort=\S+|symref|tags))$/,
      operands: plainNames,
    },
    notes: { first: /^(?:list|show)$/ },
    reflog: { never: new RegExp(`${writesOrSigns.source}|^(?:expire|delete|drop|write)$`) },
    remote: {
      options: /^-(?:v|-verbose|-push|-all)$/,
      operands: (words) => isListed(words[0] ?? 'show', 'get-url show') && plainNames(words),
    },
    // `git stash -p list` stashes a file named list.
    stash: { first: /^(?:list|show)$/, never: writesOrSigns },
    submodule: { first: /^(?:status|summary)$/ },
    'symbolic-ref': { options: /^-(?:q|-no-recurse|-quiet|-short)$/, operands: atMostOne },
    tag: { options: refOptions, operands: onlyLists },
    worktree: { first: /^list$/ },
  })

/** Of `git branch` and `git tag`. With `--sort` and a blank, the next word would be its value. */
const refOptions =
  /^-(?:[ailrv]+|n\d*|-(?:all|remotes|list|show-current|verbose|(?:no-)?(?:color|column|contains|merged|abbrev)|points-at|ignore-case|(?:abbrev|color|column|contains|format|merged|no-contains|no-merged|points-at|sort)=[^]*))$/

/** The commands of stint that only show something. None of their options writes. */
export const readingStintCommands = (): readonly string[] => [
  'audit show',
  'changes',
  'diff',
  'doctor',
  'hook status',
  'lock history',
  'lock status',
  'lock wait',
  'sessions list',
  'sessions search',
  'sessions show',
  'sessions tail',
  'status',
]
