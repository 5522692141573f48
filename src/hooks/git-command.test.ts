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
  [['branch', 'x'], {}, []],
  [['branch', '--track', 'x', 'origin/x'], { GIT_DIR: '/r/.git' }, []],
  [['branch', '-f', 'x'], {}, ['/w']],
  [['branch', '--list'], {}, ['/w']],
  [['branch', '-m', 'x', 'y'], {}, ['/w']],
  [['worktree', 'add', '../x'], {}, ['/x']],
  [['-C', 'a', 'worktree', 'add', '-b', 'n', '--lock', '--reason=r', 'x', 'HEAD'], {}, ['/w/a/x']],
  [['worktree', 'add', '-f', '../x'], {}, ['/w']],
  [['worktree', 'add', '-B', 'n', '../x'], {}, ['/w']],
  [['worktree', 'remove', '../x'], {}, ['/w']],
  [['clone', '--depth', '1', '.', '../x'], {}, ['/x']],
  [['clone', '.', 'x'], {}, ['/w/x']],
  [['clone', 'https://example.org/x.git'], {}, ['/w']],
  [['clone', '--separate-git-dir=y', '.', '../x'], {}, ['/w']],
  [['init', '-q', '-b', 'main', '../x'], {}, ['/x']],
  [['init', '../x'], { GIT_DIR: '/r/.git' }, ['/w', '/r']],
  [['init'], {}, ['/w']],
])('git %j with %j works on %j', (words, env, directories) => {
  expect(gitDirectories(parseGitCommand(words), '/w', env)).toEqual(directories)
})
