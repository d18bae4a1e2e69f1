import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { flattenError } from '../../plugins/diagnostics/flatten-error.js'
import { maskException } from '../../plugins/diagnostics/mask-exception.js'
import { createMask } from '../../plugins/kernel/mask/mask.js'

const folder = t.testdir({ 'a.ts': 'one\ntwo\n' })
const file = join(folder, 'a.ts')

function failure (fn = 'fn'): Error {
  return Object.assign(new Error('x'), { stack: `Error: x\n    at ${fn} (${file}:1:1)` })
}

t.test('a stack that comes again has the very same frames, until its source changes', async (t) => {
  const [first] = flattenError(failure(), { root: folder })
  const [second] = flattenError(failure(), { root: folder })
  t.equal(first?.frames, second?.frames)
  t.same(first?.frames[0]?.excerpt?.lines, ['one', 'two'])
  writeFileSync(file, 'three\n')
  utimesSync(file, new Date(), new Date(Date.now() + 5_000))
  const [third] = flattenError(failure(), { root: folder })
  t.not(third?.frames, first?.frames)
  t.same(third?.frames[0]?.excerpt?.lines, ['three'])
  t.not(flattenError(failure(), { root: '/elsewhere' })[0]?.frames, third?.frames, 'own to another root')
})

t.test('frames that hide nothing are masked into themselves', async (t) => {
  const mask = createMask()
  const [exception] = flattenError(failure(), { root: folder })
  if (exception === undefined) throw new Error('nothing was flattened')
  t.equal(maskException(exception, mask).frames, exception.frames)
  const [secret] = flattenError(failure('password=hunter2'), { root: folder })
  if (secret === undefined) throw new Error('nothing was flattened')
  for (let times = 0; times < 2; times++) {
    const masked = maskException(secret, mask)
    t.notMatch(JSON.stringify(masked), 'hunter2')
    t.match(masked.stack, 'password=******')
  }
  t.match(maskException(secret, createMask([])).stack, 'hunter2', 'another mask has its own')
})
