import t from 'tap'
import { maskException } from '../../plugins/diagnostics/mask-exception.js'
import { createMask } from '../../plugins/kernel/mask/mask.js'

t.test('an exception loses the secrets in all of its texts, its members too', async t => {
  const text = 'token=abc'
  const shown = 'token=******'
  const frame = { file: '/a.ts', line: 1, column: 2, own: true, excerpt: { start: 1, lines: [text] } }
  const given = { name: text, message: text, stack: `Error: ${text}`, code: text, note: text, statusCode: 400, frames: [{ ...frame, function: text }] }
  const expected = { name: shown, message: shown, stack: `Error: ${shown}`, code: shown, note: shown, statusCode: 400, frames: [{ ...frame, function: shown }] }
  t.strictSame(maskException({ ...given, errors: [[given]] }, createMask()), { ...expected, errors: [[expected]] })
  const bare = { name: 'Error', message: '', stack: '', frames: [] }
  t.strictSame(maskException(bare, createMask()), bare, 'nothing is added')
})
