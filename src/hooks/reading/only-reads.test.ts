import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeReadingSandbox, tryCommands } from '../../../test/support/reading-sandbox.ts'
import { projectRoot, World } from '../../../test/support/world.ts'
import { onlyReads } from './only-reads.ts'

const readingCommands = readFileSync(join(projectRoot, 'test/fixtures/reading-commands.txt'), 'utf8')
  .trim()
  .split('\n')

test('of the reading commands that agents run, at least 95 % pass', () => {
  const refused = readingCommands.filter((command) => !onlyReads(command))
  expect(readingCommands.length).toBeGreaterThanOrEqual(300)
  expect(refused.length / readingCommands.length, refused.join('\n')).toBeLessThanOrEqual(0.05)
})

test.each([
  'git config --get a.b',
  'git config --global --get-regexp alias',
  'git config a.b',
  'git config get a.b',
  'git branch --contains HEAD',
  'git branch -a --merged main',
  'git tag --points-at HEAD',
  "git tag -l 'v*' --sort=-v:refname",
  'git remote show origin',
  'git ls-remote origin --heads',
  'git reflog -n 5',
  'git bisect log',
  'git show HEAD^',
  "rg -n '^export' src",
  'command -v node &>/dev/null && echo yes',
  'tree -L 2 -I node_modules -a src',
  'ls | xargs -n 2 -d , wc -l',
  'ls | xargs -I{} grep -n x {}',
  "sed -n -e '1,5p' -e '/^## /p' a.txt",
  "awk -F: -v n=1 '{print $n}' a.txt",
  "printf '%s\\n' 'a=$b'",
  'printf %03d 5',
  '[ 1 -eq 1 ]',
  'test -f a.txt',
  'xxd -p -l16 a.txt',
  'uniq -c a.txt',
  'date -u -I',
  "date -I -d '2 days ago' +%F",
  'tar tf a.tar host:x',
  "git for-each-ref --format='%(contents:signature)'",
  'git grep -n signature',
  'stint doctor --json',
  'gh pr view 5 --json title,body -q .title',
  'gh pr list -R owner/name --state all -L 5',
  'gh pr checks --watch',
  'gh pr diff 5 --name-only',
  'gh issue view 5 -c',
  'gh issue list --label bug --search x',
  'docker ps -a --format json',
  'docker logs -f --tail 20 web',
  'docker images -q',
  'docker inspect -f x web',
  'npm ls --depth=0 -g',
  'npm view @scope/name@1.2.3 dist-tags.latest --json',
  'npm -v',
  'npm --version',
  'lsof -nP -iTCP:3000 -sTCP:LISTEN',
  'lsof -ti :3000',
  'lsof +D src',
  'less -RFX a.txt',
  'git log | less -S',
  '(ls; pwd)',
  '( (cd src && ls) | wc -l; pwd )',
  '(ls 2>/dev/null) 2>&1 | head -1',
  '{ ls; pwd; } | head -1',
  '{ ls\n}',
  'for f in *.ts "$X" a; do head -3 "$f"; done',
  'for d in a b\ndo\n  for f in 1 2; do echo $d $f; done | wc -l\n  (ls $d)\ndone 2>/dev/null',
  'for i in 1 2 3; do sleep 1; done',
  'until grep -q ready log; do sleep 1; done && tail log',
  'while true; do date; done',
  'echo for do done while',
])('%s reads', (command) => {
  expect(onlyReads(command)).toBe(true)
})

test('a very long command counts as a change, at once and without an error', () => {
  for (const part of ['x', '"', '\n', 'time ', 'ls;', 'xargs '])
    expect(onlyReads(`ls ${part.repeat(10_000_000)}`), part).toBe(false)
  expect(onlyReads(`ls ${'some-file '.repeat(1000)}`)).toBe(true)
})

test.each([
  ['a redirection to a file', ['ls > x', 'ls >>x', 'ls 2> x', 'ls &>x', 'ls >/dev/nullx', 'ls >| x']],
  [
    'a substitution',
    ['ls $(rm x)', 'ls `rm x`', 'ls "$(rm x)"', 'cat <(rm x)', String.raw`echo "\\$(rm x)"`],
  ],
  ['a here-document', ['cat <<E\nx\nE', 'cat <<< x']],
  [
    'braces or a function',
    ['ls {a,b}', 'ls() { rm x; }', 'ls () { rm x; }', '() { rm x; }', '( ) { rm x; }'],
  ],
  [
    'a group with a command that changes something',
    [
      '(rm x)',
      '(ls; rm x)',
      '( (rm x) )',
      '{ ls; rm x; }',
      '(ls) > x',
      '{ ls; } > x',
      '(X=1)',
      'ls | (tee x)',
    ],
  ],
  [
    'a group that no shell accepts, or not every shell takes for one',
    [
      '(ls',
      'ls)',
      '(ls))',
      '(ls) rm x',
      '(ls) (rm x)',
      'ls (a)',
      '{ ls; } rm x',
      '{ ls; } always { rm x; }',
      '{ ls }',
      '{ls;}',
      '{ ls; )',
      '((PATH=1))',
      '(\\\n(PATH=1))',
      'ls *(a)',
      'echo a(b)',
      '(ls) &',
    ],
  ],
  [
    'a loop with a command that changes something',
    [
      'for f in a; do rm $f; done',
      'for f in a; do ls; done; rm x',
      'for f in a; do ls; done > x',
      'for f in a; do $f; done',
      'for f in -ox; do sort $f; done',
      'for f in $(rm x); do ls; done',
      'while rm x; do ls; done',
      'until ls; do rm x; done',
    ],
  ],
  [
    'a loop over a variable that chooses the programs',
    ['for PATH in src; do ls; done', 'for path in src; do ls; done', 'for LESSOPEN in x; do less a; done'],
  ],
  [
    'a loop that is not whole',
    [
      'for f in a; do ls',
      'for f in a; ls; done',
      'for f in a do ls; done',
      'for f in a; { rm x; }',
      'for f (a b) rm x',
      'for ((;;)); do ls; done',
      "for f in a\n'do' ls\ndone",
      "'for' f in a; do ls; done",
      'do ls; done',
      'ls; done',
      'for f in a; do ls; done rm x',
      'for f in a; do (ls; done)',
    ],
  ],
  ['an assignment', ['PATH=. ls', 'X=1', 'export X=1']],
  ['a command in the background', ['ls &', 'ls & rm x']],
  ['a quote that fish reads in another way', [String.raw`echo 'a\' '; rm x'`]],
  [
    'an unknown program',
    ['rm x', 'ls; rm x', 'ls\nrm x', './ls', 'constructor', 'git constructor', 'sh', 'tee x'],
  ],
  ['a program that the shell chooses', ['$X', 'l?']],
  [
    'a word that shells read differently',
    [
      'echo &>/dev/null touch x',
      'awk -F 12>/dev/null x',
      'cat 12<x',
      String.raw`sort \x2do x`,
      'find "$^_"',
      'uniq "$=X"',
      'echo $x[PATH=1]',
      'echo "$x[PATH=1]"',
      'echo "$~x[PATH=1]"',
      'echo "${x}[PATH=1]"',
      'uniq ^x',
    ],
  ],
  [
    'an option that writes',
    [
      'sort -o x y',
      'sort -nox y',
      'git diff --output=x',
      'git log --outpu=x',
      'tree -o x',
      'tree -Lo 1 x',
      'tree -I -o x',
    ],
  ],
  ['an option that runs a program', ['rg --pre ./x y', 'git grep -O y', 'find . -exec rm x', 'fd -x rm']],
  [
    'a variable or pattern that may be an option that writes',
    ['sort $X', 'git diff "$X"', 'git diff *', 'find *'],
  ],
  ['an option behind the end of the options', ['git log -S -- --output=x', 'sort -t -- -o x']],
  [
    'an operand that looks like an option',
    [
      'uniq a -c',
      'uniq a -- -c',
      'xxd a -p',
      'hostname -- -s',
      'git symbolic-ref refs/heads/x -- --short',
      'git config a.b --get',
      'git config a.b -l',
      'git config a.b -- --list',
      'git config -- a.b --get',
      'git tag x --list',
      'git branch x --contains',
      'git branch -- x --list',
    ],
  ],
  [
    'an option or operand that may be a value of another option',
    [
      'git branch --sort --list x',
      'git tag --format --contains x',
      `awk -F -v 'BEGIN{system("rm x")}' y`,
      'awk -F -F -f x',
      'git reflog -n -n expire',
    ],
  ],
  [
    'an operand that writes',
    [
      'uniq a b',
      'xxd a b',
      'xxd -ps a b',
      'xxd -bs a b',
      'xxd -l 5 a b',
      'date -I 010100002027',
      'date -Id 010100002030',
      'date -uIr 010100002030',
      'date 11161800',
      'hostname x',
      'git config a.b c',
    ],
  ],
  [
    'a ref',
    [
      'git branch x',
      'git tag v1',
      'git symbolic-ref HEAD refs/heads/x',
      'git stash',
      'git stash drop',
      'git stash -p list',
    ],
  ],
  ['configuration of git', ['git -c core.pager=./x log', 'git config --unset a.b', 'git config edit']],
  [
    'a script of sed that writes',
    [
      "sed -n 'w x' y",
      'sed s/a/b/w',
      "sed 's/a/b/e'",
      'sed -i p x',
      "sed -e 'w x' 5p",
      "sed -e p -e 'w x'",
      'sed p -i',
    ],
  ],
  ['a script of sed that versions read differently', ["sed 's/[/]/p;s/w x/y/'"]],
  [
    'a program of awk that writes',
    [`awk '{print > "x"}'`, `awk '{print | "sh"}'`, `awk 'BEGIN{system("x")}'`, 'awk -f x'],
  ],
  [
    'arithmetic that runs a command',
    ["test -v 'x[$(rm y)]'", "[ 'x[$(rm y)]' -eq 1 ]", "printf %d 'x[$(rm y)]'"],
  ],
  [
    'a variable of the shell',
    [
      'printf -v PATH x',
      'set -k',
      'set -- x',
      'printf %n PATH',
      'printf %d PATH=1',
      "printf '%*s' PATH=1 x",
      '[ PATH=1 -eq 1 ]',
      'test PATH++ -gt 0',
      'test -t PATH=1',
    ],
  ],
  [
    'a program behind another',
    [
      'xargs rm',
      'xargs sort',
      'time rm x',
      'command rm x',
      'timeout 5 rm x',
      'env rm x',
      'arch -arm64 rm x',
      'xargs -I ls ls',
      'xargs -Ils ls',
      'xargs -I{} {} x',
      'xargs xargs -n',
      'xargs xargs -d',
      'xargs -n $N cat',
      'xargs -n * cat',
      'xargs -n',
    ],
  ],
  ['a program that runs its input', ['echo x | python3 -v', 'make version', 'node version', 'java version']],
  [
    'gpg, which makes files in the home',
    [
      'git log --show-signature',
      'git log --format=%G?',
      'git verify-tag v1',
      "git for-each-ref --format='%(signature)'",
      "git branch --format='%(*signature:grade)'",
      "git tag --list --format '%(if)%(signature:key)%(then)x%(end)'",
      'git for-each-ref --sort=-signature',
      'git tag --sort signature:signer',
    ],
  ],
  [
    'an archive on another machine, for which tar runs rsh',
    ['tar tf host:x', 'tar -tzf user@host:/x.tgz', 'tar tf --rsh-command=x a'],
  ],
  [
    'a command of gh that changes something or opens a browser',
    [
      'gh pr view --web',
      'gh pr view -cw',
      'gh issue list -w',
      'gh pr merge 5',
      'gh pr -R view merge',
      'gh --repo pr view merge',
      'gh issue close 5',
      'gh pr checkout 5',
      'gh api x',
      'gh pr',
      'gh alias list',
    ],
  ],
  [
    'a command of docker that changes something',
    ['docker run x', 'docker rm x', 'docker -H ssh://x ps', 'docker exec x ls', 'docker'],
  ],
  [
    'a command of npm that changes something',
    [
      'npm install',
      'npm test',
      'npm --depth ls install x',
      'npm -v --version=false --depth ls install x',
      'npm ls --cache=x',
      'npm ls --logs-dir x',
      'npm view user/repository',
      'npm view git+ssh://host/x',
      'npm view x --registry=http://x',
    ],
  ],
  [
    'less with a log, a key file, a tag or a command',
    [
      'less -ox a',
      'less -O x',
      'less -No x',
      'less --log-file=x',
      'less -k x a',
      'less -t x',
      "less '+!rm x' a",
    ],
  ],
  ['the device cache of lsof', ['lsof -Dbx', 'lsof -D u', 'lsof -nDbx', 'lsof -i-Dbx']],
  ['a remote that runs a program', ['git ls-remote ext::x', 'git remote show ext::x']],
  ['a command of stint that changes something', ['stint lock break', 'stint sweep', 'stint sessions rm x']],
])('%s is a change', (_, commands) => {
  expect(commands.filter(onlyReads)).toEqual([])
})

test('a made-up command that is called reading changes nothing', async () => {
  await using world = new World()
  const repository = makeReadingSandbox(world.tmp)
  const { ran, changing } = tryCommands(repository, { seed: 1, count: 1000, isReading: onlyReads })
  expect(changing).toEqual([])
  expect(ran).toBeGreaterThan(100)
})

test('a lexer that overlooks redirections is noticed', async () => {
  await using world = new World()
  const isReading = (command: string): boolean => onlyReads(command.replaceAll(/> ?hit/g, ''))
  const repository = makeReadingSandbox(world.tmp)
  const { changing } = tryCommands(repository, { seed: 1, count: 400, isReading })
  expect(changing).not.toEqual([])
})

test.each([
  ['which variable a loop sets', /(?<=for )(?:PATH|path)(?= in)/g, 'f'],
  ['what follows on a group', /(?<=\)|\}|done) (?:>|always).*/g, ''],
])('a lexer that overlooks %s is noticed', async (_, overlooked, instead) => {
  await using world = new World()
  const isReading = (command: string): boolean => {
    const seen = command.replaceAll(overlooked, instead)
    return seen !== command && onlyReads(seen)
  }
  const repository = makeReadingSandbox(world.tmp)
  const { changing } = tryCommands(repository, { seed: 1, count: 2000, isReading })
  expect(changing).not.toEqual([])
})

test('a table that overlooks the place of an option is noticed', async () => {
  await using world = new World()
  const isReading = (command: string): boolean => {
    const words = command.split(' ')
    const program = words.splice(0, words[0] === 'git' ? 2 : 1)
    const isOption = (word: string): boolean => /^-./.test(word)
    const operands = words.filter((word) => !isOption(word))
    return onlyReads([...program, ...words.filter(isOption), ...operands].join(' '))
  }
  const repository = makeReadingSandbox(world.tmp)
  const { changing } = tryCommands(repository, { seed: 1, count: 800, isReading })
  expect(changing).not.toEqual([])
})
