import { expect, test } from 'vitest'
import { repositoryName } from './repository.ts'

test.each([
  'git@github.com:Org/Repo.git',
  'github.com:org/repo',
  '[github.com:22]:org/repo',
  'git@github.com:/org/repo/',
  'ssh://git@github.com/org/repo.git',
  'ssh://git@github.com:2222/org/repo.git',
  'git+ssh://git@github.com/org/repo',
  'https://github.com/org/repo',
  'https://github.com/Org/Repo.git/',
  'HTTPS://GitHub.com:443/org/repo.git',
  'http://github.com:80/org//repo.git',
  'https://x-access-token:ghs_secret@github.com/org/repo.git',
  'https://me@corp.example:p@ss@github.com/org/repo.git',
  'https://github.com/org/repo.git?token=secret#fragment',
  'git://github.com/org/repo.git',
  'https://github.com./org/%72epo',
])('%s is github.com/org/repo', (url) => {
  expect(repositoryName(url)).toBe('github.com/org/repo')
})

test.each([
  ['https://git.example:8443/a/b', 'git.example:8443/a/b'],
  ['http://git.example:443/a/b', 'git.example:443/a/b'],
  ['ssh://git@[2001:db8::1]:2222/a/b.git', '[2001:db8::1]/a/b'],
  ['git@host:~user/repo.git', 'host/~user/repo'],
  ['https://host/a/%zz', 'host/a/%zz'],
  ['https://host/.git', 'host/'],
  ['codecommit::eu-west-1://profile@MyRepo', 'codecommit::eu-west-1://myrepo'],
])('%s is %s', (url, name) => {
  expect(repositoryName(url)).toBe(name)
})

test.each([
  '/srv/git/repo.git',
  './repo',
  '../repo',
  'repo',
  'file:///srv/git/repo.git',
  'C:\\repos\\repo',
  './a:b',
])('%s is a path of this machine', (url) => {
  expect(repositoryName(url)).toBeUndefined()
})

test('a name contains no user, password or token', () => {
  for (const url of [
    'https://user:hunter2@host/a/b',
    'https://hunter2@host/a/b',
    'ssh://hunter2@host/a/b',
    'hunter2@host:a/b',
    'x::https://hunter2@host/a/b',
    'https://a:hunter2@b@host/a',
  ])
    expect(repositoryName(url)).not.toContain('hunter2')
})
