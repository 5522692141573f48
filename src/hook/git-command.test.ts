import { expect, test } from 'vitest'
import { gitDirectories, parseGitCommand } from './git-command.ts'

test('the subcommand comes after the options of git, whatever their form', () => {
  expect(parseGitCommand(['-C', 'a', '-c', 'x=y', '--git-dir=b=c', '--no-pager', 'reset', '--hard'])).toEqual(
    {
      name: 'reset',
      args: ['--hard'],
      options: [
        ['-C', 'a'],
        ['-c', 'x=y'],
        ['--git-dir', 'b=c'],
        ['--no-pager', ''],
      ],
    },
  )
  expect(parseGitCommand([])).toMatchObject({ name: '', args: [] })
  expect(parseGitCommand(['-C'])).toMatchObject({ name: '', options: [['-C', '']] })
})

test.each([
  [['add', '.'], {}, ['/w']],
  [['-C', 'a', '-C', 'b', 'add'], {}, ['/w/a/b']],
  [['-C', '/x', '-C', '', 'add'], {}, ['/x']],
  [['-C', 'a', '--work-tree', 'b', 'add'], {}, ['/w/a/b']],
  [['--git-dir=../r/.git', 'add'], {}, ['/w', '/r']],
  [['--git-dir', '/r/.git', '--work-tree=/t', 'add'], { GIT_DIR: '/no', GIT_WORK_TREE: '/no' }, ['/t', '/r']],
  [['add'], { GIT_DIR: '/r/.git', GIT_WORK_TREE: '/t' }, ['/t', '/r']],
])('git %j with %j works on %j', (words, env, directories) => {
  expect(gitDirectories(parseGitCommand(words), '/w', env)).toEqual(directories)
})
