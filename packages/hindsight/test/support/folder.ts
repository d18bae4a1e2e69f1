import type { Test } from 'tap'

type Content = Parameters<Test['testdir']>[0]

/** Like `t.testdir`, but the folder is removed after the functions of `t.teardown` have run, such as `app.close`. */
export function testdir (t: Pick<Test, 'teardown' | 'testdir'>, content?: Content): string {
  // tap runs the functions of the one that was called first, the folder's removal or the teardown, before the others.
  t.teardown(() => {})
  return t.testdir(content)
}
