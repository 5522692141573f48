/** The arguments with which a program only reads. An option that is not listed counts as a change. */
export interface ReadingArguments {
  /** Short options without a value: `al` for `-a`, `-l` and `-la`. */
  flags?: string
  /** Short options with a value, in the same word or in the next. */
  values?: string
  /** Long options without their dashes; a value may follow after `=`. */
  long?: string
  /** Matches the first word, if that is a subcommand. */
  first?: RegExp
  /** Checks the words that are neither options nor values of short options, and the options before them. */
  operands?: (operands: readonly string[], options: readonly string[]) => boolean
}

/** A function checks all the words. */
export type ReadingProgram = ReadingArguments | ((words: readonly string[]) => boolean)

type Operands = NonNullable<ReadingArguments['operands']>

const none: Operands = (operands) => operands.length === 0
const atMostOne: Operands = (operands) => operands.length <= 1
const firstIs =
  (...words: readonly string[]): Operands =>
  ([first = '']) =>
    words.includes(first)
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

let findTests: Set<string> | undefined

/** Tests and actions of find that write nothing, and numbers such as the `-7` of `-mtime -7`. */
function isHarmlessFindWord(word: string): boolean {
  findTests ??= new Set(
    namesOf(
      `-H -L -P -a -amin -and -anewer -atime -cmin -cnewer -ctime -daystart -depth -empty -executable -false -follow
       -fstype -gid -group -ilname -iname -inum -ipath -iregex -links -lname -ls -maxdepth -mindepth -mmin -mount
       -mtime -name -newer -newermt -nogroup -noleaf -not -nouser -o -or -path -perm -print -print0 -printf -prune
       -quit -readable -regex -regextype -samefile -size -true -type -uid -user -writable -xdev -xtype`,
    ),
  )
  return !word.startsWith('-') || findTests.has(word) || /^-\d+\w?$/.test(word)
}

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

/** tree takes the next word for the value of an option, and letters behind the option for more options. */
function isHarmlessTree(words: readonly string[]): boolean {
  const long =
    'charset dirsfirst du filelimit filesfirst gitignore ignore-case inodes matchdirs noreport prune si sort'
  return words.every((word, at) => {
    if (/^-[ILP]$/.test(word)) return /^[^-]/.test(words[at + 1] ?? '')
    if (word.startsWith('--')) return isListed(word.slice(2).replace(/=.*/, ''), `${long} timefmt`)
    return !word.startsWith('-') || /^-[aAcCdDfFghiJlnNpqQrsStuUvxX]+$/.test(word)
  })
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

/** No slash but that of a scope: npm would clone the repository `user/name`. */
const npmWord = /^(?:-[aglp]|--(?:all|depth|json|long|parseable)(?:=\w*)?|(?:@[\w-]+\/)?\w[\w.@^~-]*)$/

/** Programs that only print what they are given or find, with all options of every version that we know. */
export const printingPrograms =
  ': basename cat cd cksum cmp column comm cut df diff dirname du echo egrep expr false fgrep fold free ' +
  'getconf grep groups head hexdump id jq join locale ls lscpu md5sum nl nproc od paste pgrep printenv ps pwd ' +
  'readlink realpath rev seq sha1sum sha256sum sha512sum sleep stat strings sum tac tail tr true tty type uname ' +
  'uptime wc whereis which whoami zcat'

/** The names in `checkedPrograms`. */
export const checkedNames =
  'bun cc clang gcc make node perl php ruby tsc cargo deno python python3 rustc cmake java go [ arch awk base64 date ' +
  'docker env exit fd file find gh hostname less lsof npm printf rg sed set sort tar test tree uniq unzip xxd'

/** Whether a word is one of those in a text. A set would have to be made first, and an agent waits. */
export const isListed = (word: string, words: string): boolean =>
  !word.includes(' ') && ` ${words} `.includes(` ${word} `)

// These run other programs, unless they only print their version. `python -v` and `make version` do more.
const version = /* @__PURE__ */ onlyWord(/^(?:-v|--version)$/)
const capitalVersion = /* @__PURE__ */ onlyWord(/^(?:-V|--version)$/)
const longVersion = /* @__PURE__ */ onlyWord(/^--version$/)

let checked: Readonly<Record<string, ReadingProgram>> | undefined

/** Programs that only read with some arguments. */
export const checkedPrograms = (): Readonly<Record<string, ReadingProgram>> =>
  (checked ??= {
    ...only(version, 'bun cc clang gcc make node perl php ruby tsc'),
    ...only(capitalVersion, 'cargo deno python python3 rustc'),
    ...only(longVersion, 'cmake java'),
    go: onlyWord(/^version$/),
    ...programsFromA(),
    ...programsFromH(),
  })

const only = (program: ReadingProgram, names: string): Readonly<Record<string, ReadingProgram>> =>
  Object.fromEntries(namesOf(names).map((name) => [name, program]))

const programsFromA = (): Readonly<Record<string, ReadingProgram>> => ({
  '[': (words) => words.at(-1) === ']' && isHarmlessTest(words.slice(0, -1)),
  // With words, that of macOS runs a program.
  arch: (words) => words.length === 0,
  // An awk program writes through a redirection or a pipe; `@` calls a function by a computed name.
  awk: { values: 'Fv', operands: ([program = '']) => !/>(?!=)|[|@`]|system|getline/.test(program) },
  base64: { flags: 'di', values: 'w', long: 'decode ignore-garbage wrap' },
  // An operand without the plus sign sets the clock. In `-Id`, the d is the value of -I and takes no word.
  date: {
    flags: 'IuR',
    values: 'dr',
    long: 'date iso-8601 reference rfc-3339 utc',
    operands: (words, options) => allMatch(/^\+/)(words) && allMatch(/^(?!-\w*I.)/)(options),
  },
  docker: {
    flags: 'alqst',
    values: 'fn',
    long: 'all digests filter follow format last latest no-trunc quiet since size tail timestamps type until',
    first: /^(?:ps|logs|images|inspect)$/,
  },
  env: (words) => words.length === 0,
  exit: allMatch(/^\d+$/),
  fd: {
    flags: '0acFgHIilLpsuv1',
    values: 'deEtTSj',
    long: `absolute-path and base-directory case-sensitive changed-before changed-within color exact-depth exclude
    extension fixed-strings follow full-path glob hidden ignore-case list-details max-depth max-results min-depth
    no-ignore no-ignore-vcs print0 prune quiet relative-path show-errors size strip-cwd-prefix type unrestricted`,
  },
  // -p sets the times of the file.
  file: {
    flags: 'bEhikLNnrsvz0',
    long: 'brief dereference mime mime-encoding mime-type no-dereference no-pad version',
  },
  find: (words) => words.every(isHarmlessFindWord),
  // --web starts a browser.
  gh: {
    flags: 'cd',
    values: 'aABeHilLmqRsSt',
    long: `app assignee author base color comments draft exclude fail-fast head interval jq json label limit mention
    milestone name-only patch repo required search state template watch`,
    first: /^(?:pr|issue)$/,
    operands: ([, command = '']) => isListed(command, 'view list checks diff'),
  },
})

const programsFromH = (): Readonly<Record<string, ReadingProgram>> => ({
  hostname: { flags: 'AdfIis', operands: none },
  // -o writes what less reads to a file, -k and -t may run a program, and so does `+!program`. The user
  // chose the preprocessor in LESSOPEN.
  less: allMatch(/^(?:[^-+]|-[eEfFgGiImMnNqrRsSX]+$)/),
  // -D may write the device cache.
  lsof: allMatch(/^(?:[^-]|-[abhlnNoOPRtUVwX]*(?:[cdFgipsTu](?:[\w:@^/][\w:.,@^*/-]*)?)?$)/),
  npm: (words) => version(words) || (/^(?:ls|view)$/.test(words[0] ?? '') && allMatch(npmWord)(words)),
  printf: isHarmlessPrintf,
  rg: {
    flags: '.0aFHIilLnNopqsSuUvwxcPzb',
    values: 'ABCdefgjmMrtT',
    long: `after-context before-context byte-offset case-sensitive color colors column context context-separator count
    count-matches crlf encoding engine file files files-with-matches files-without-match fixed-strings follow glob
    glob-case-insensitive heading hidden iglob ignore-case include-zero invert-match json line-number line-regexp
    max-columns max-columns-preview max-count max-depth max-filesize multiline multiline-dotall no-column no-config
    no-filename no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global
    no-ignore-messages no-ignore-parent no-ignore-vcs no-line-number no-messages no-require-git null null-data
    one-file-system only-matching passthru pcre2 pretty quiet regexp replace search-zip smart-case sort sortr stats
    stop-on-nonmatch text threads trim type type-list type-not unrestricted version vimgrep with-filename word-regexp`,
  },
  sed: isHarmlessSed,
  // `set -k` would turn later arguments into variables.
  set: allMatch(/^(?:[-+][eux]*o?|pipefail|errexit|nounset|xtrace)$/),
  sort: {
    flags: 'bcCdfghiMmnRrsuVz',
    values: 'kt',
    long: `check dictionary-order field-separator general-numeric-sort human-numeric-sort ignore-case
    ignore-leading-blanks key month-sort numeric-sort random-sort reverse stable unique version-sort zero-terminated`,
  },
  // A colon in the name of the archive makes tar run rsh.
  tar: ([letters = '', archive = '', ...more]) =>
    /^-?[vzjJa]*t[vzjJa]*f$/.test(letters) && /^[^-:][^:]*$/.test(archive) && allMatch(/^[^-]/)(more),
  test: isHarmlessTest,
  tree: isHarmlessTree,
  // The second operand is the file that uniq writes.
  uniq: {
    flags: 'cdDiuz',
    values: 'fsw',
    long: 'count ignore-case repeated skip-chars skip-fields unique',
    operands: atMostOne,
  },
  unzip: ([letters = '', ...more]) => /^-q?[lvZ]1?$/.test(letters) && allMatch(/^[^-]/)(more),
  // The second operand is the file that xxd writes, whatever it begins with. Its options have several
  // letters: `-ps` is one.
  xxd: (words) =>
    allMatch(/^-(?:[abeipu]|[cgls]\d+)$/)(words.slice(0, -1)) &&
    /^(?:[^-].*|-[abeipu]|-[cgls]\d+|)$/.test(words.at(-1) ?? ''),
})

/** Options that make git list what matches its operands. */
const listingOptions =
  '-l --list --contains --no-contains --merged --no-merged --points-at --get --get-all --get-regexp'

const isListing = (option: string): boolean => isListed(option.replace(/=[^]*/, ''), listingOptions)

/**
 * With an operand, `git branch` and `git tag` create something, unless they list what matches it. `--sort`
 * and `--format` take the next word for their value, even if it is `--list`.
 */
const onlyLists: Operands = (operands, options) =>
  operands.length === 0 ||
  (options.some(isListing) && !options.includes('--sort') && !options.includes('--format'))

/** A remote with `::` in its name runs a program. */
const plainNames = /* @__PURE__ */ allMatch(/^[\w./-]+$/)

let gitCommands: Readonly<Record<string, ReadingArguments>> | undefined

/** The subcommands of git that change no file outside `.git`, no ref and no configuration. */
export const readingGitCommands = (): Readonly<Record<string, ReadingArguments>> =>
  (gitCommands ??= { ...historyCommands(), ...refCommands(), ...fileCommands() })

const diffOptions = `
  abbrev binary cached cc check color color-moved color-words combined-all-paths compact-summary
  cumulative diff-algorithm diff-filter dirstat exit-code find-copies find-copies-harder find-renames
  full-index function-context histogram ignore-all-space ignore-blank-lines ignore-cr-at-eol
  ignore-matching-lines ignore-space-at-eol ignore-space-change ignore-submodules indent-heuristic
  inter-hunk-context line-prefix merge-base minimal name-only name-status no-color no-ext-diff no-index
  no-patch no-prefix no-renames no-textconv numstat patch patch-with-raw patch-with-stat patience pickaxe-all
  pickaxe-regex quiet raw relative shortstat staged stat submodule summary text unified word-diff
  word-diff-regex ws-error-highlight`
const logOptions = `
  ${diffOptions} abbrev-commit after all all-match ancestry-path author author-date-order basic-regexp before
  boundary branches children cherry cherry-mark cherry-pick committer count date date-order decorate
  decorate-refs dense diff-merges encoding exclude expand-tabs extended-regexp first-parent
  fixed-strings follow format full-history glob graph grep grep-reflog invert-grep left-only left-right log-size
  mailmap max-count max-parents merge merges min-parents no-abbrev-commit no-decorate no-expand-tabs no-mailmap
  no-merges no-notes no-walk not notes oneline parents perl-regexp pretty reflog regexp-ignore-case
  relative-date remotes remove-empty reverse right-only root show-pulls simplify-by-decoration
  simplify-merges since skip source sparse tags timestamp topo-order until use-mailmap walk-reflogs`
const diffArguments = { flags: 'abcimpqrstuvwzBCDEFMPRWX0123456789', values: 'GILOSUln', long: diffOptions }
const logArguments = { ...diffArguments, long: logOptions }

/** Commits and their changes. */
const historyCommands = (): Readonly<Record<string, ReadingArguments>> => ({
  // Without --output, it writes to stdout.
  archive: { flags: 'lv0123456789', long: 'format list prefix verbose worktree-attributes' },
  blame: {
    flags: 'bcCefFklMnpstw',
    values: 'L',
    long: 'abbrev date first-parent incremental line-porcelain porcelain root show-email show-name show-number',
  },
  cherry: { flags: 'v', long: 'abbrev' },
  describe: {
    long: 'abbrev all always broken candidates contains dirty exact-match exclude first-parent long match tags',
  },
  diff: diffArguments,
  'diff-files': diffArguments,
  'diff-index': diffArguments,
  'diff-tree': { ...logArguments, long: `${logOptions} always no-commit-id stdin` },
  log: { ...logArguments, flags: `${logArguments.flags}g` },
  reflog: { ...logArguments, operands: firstIs('', 'show', 'HEAD') },
  'rev-list': { ...logArguments, long: `${logOptions} header objects` },
  shortlog: {
    ...logArguments,
    flags: `${logArguments.flags}en`,
    long: `${logOptions} email group numbered`,
  },
  show: logArguments,
  // `git stash -p list` stashes a file named list.
  stash: { ...logArguments, first: /^(?:list|show)$/ },
  whatchanged: logArguments,
})

const refFilters = `
  color column contains format ignore-case list merged no-column no-contains no-merged points-at sort`

/** Branches, remotes and configuration. */
const refCommands = (): Readonly<Record<string, ReadingArguments>> => ({
  bisect: { first: /^log$/ },
  branch: {
    flags: 'airv',
    long: `${refFilters} abbrev all no-abbrev no-color remotes show-current verbose`,
    operands: onlyLists,
  },
  config: {
    flags: 'lz',
    long: 'get get-all get-regexp global list local name-only null show-origin show-scope system worktree',
    // `git config NAME` reads, `git config NAME VALUE` writes, whatever the value begins with.
    operands: ([first = '', second], options) =>
      options.some(isListing) ||
      first === 'get' ||
      (second === undefined && (first === 'list' || first.includes('.'))),
  },
  'for-each-ref': { long: `${refFilters} count exclude omit-empty` },
  'ls-remote': {
    flags: 'htq',
    long: 'branches exit-code get-url heads quiet refs sort symref tags',
    operands: plainNames,
  },
  'merge-base': { flags: 'a', long: 'all fork-point independent is-ancestor octopus' },
  'name-rev': { long: 'all always exclude name-only no-undefined refs tags' },
  notes: { first: /^(?:list|show)$/ },
  remote: {
    flags: 'v',
    long: 'all push verbose',
    operands: (words) => firstIs('', 'get-url', 'show')(words, []) && plainNames(words),
  },
  'show-ref': { flags: 'dhqs', long: 'abbrev branches dereference hash head heads quiet tags verify' },
  submodule: { long: 'cached quiet recursive', first: /^(?:status|summary)$/ },
  'symbolic-ref': { flags: 'q', long: 'no-recurse quiet short', operands: atMostOne },
  tag: { flags: 'n0123456789l', long: refFilters, operands: onlyLists },
  worktree: { flags: 'vz', long: 'porcelain verbose', first: /^list$/ },
})

/** Files, objects and git itself. */
const fileCommands = (): Readonly<Record<string, ReadingArguments>> => ({
  'cat-file': { flags: 'epst', long: 'batch batch-all-objects batch-check buffer follow-symlinks' },
  'check-attr': { flags: 'az', long: 'all cached source stdin' },
  'check-ignore': { flags: 'nqvz', long: 'no-index non-matching quiet stdin verbose' },
  'count-objects': { flags: 'vH', long: 'human-readable verbose' },
  // --lost-found writes below .git.
  fsck: {
    flags: 'v',
    long: `cache connectivity-only dangling full lost-found name-objects no-dangling no-full no-progress no-reflogs
    progress root strict tags unreachable verbose`,
  },
  grep: {
    flags: 'aEFGHIPchilLnopqrvwWz0123456789',
    values: 'ABCefm',
    long: `after-context all-match and basic-regexp before-context break cached color column context count
    exclude-standard extended-regexp files-with-matches files-without-match fixed-strings full-name function-context
    heading ignore-case invert-match line-number max-count max-depth name-only no-color no-exclude-standard no-index
    no-recursive not null only-matching or perl-regexp quiet recurse-submodules recursive show-function text textconv
    threads untracked word-regexp`,
  },
  help: { flags: 'acgmv', long: 'all config guides man no-aliases no-external-commands verbose' },
  'ls-files': {
    flags: 'cdfikmostuvz',
    values: 'xX',
    long: `abbrev cached debug deduplicate deleted directory eol error-unmatch exclude exclude-from exclude-per-directory
    exclude-standard format full-name ignored killed modified no-empty-directory others recurse-submodules
    resolve-undo sparse stage unmerged with-tree`,
  },
  'ls-tree': {
    flags: 'drtlz',
    long: 'abbrev format full-name full-tree long name-only name-status object-only',
  },
  'rev-parse': {
    flags: 'q',
    long: `abbrev-ref absolute-git-dir all branches git-common-dir git-dir git-path is-bare-repository
    is-inside-git-dir is-inside-work-tree is-shallow-repository path-format quiet remotes short show-cdup
    show-object-format show-prefix show-superproject-working-tree show-toplevel symbolic symbolic-full-name
    tags verify`,
  },
  status: {
    flags: 'bsvz',
    values: 'u',
    long: `ahead-behind branch column find-renames ignore-submodules ignored long no-ahead-behind no-column no-renames
    null porcelain renames short show-stash untracked-files verbose`,
  },
  var: { flags: 'l' },
  version: { long: 'build-options' },
})

/** Other commands that are part of git, so that `-h` alone shows their usage and no alias has their name. */
export const changingGitCommands = (): readonly string[] =>
  namesOf(
    `add am apply checkout cherry-pick clean clone commit fetch gc init merge mv pull push rebase reset restore revert rm
   switch update-index update-ref verify-commit verify-tag`,
  )

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
