import t from 'tap'
import { maskedTexts, maskerOf } from '../../src/mask/known-secrets.js'
import { createMask, MASKED } from '../../src/mask/mask.js'

t.test('the masked parts of a value are found in what is shown of it', async t => {
  for (const [given, shown, texts] of [
    ['hunter2', MASKED, ['hunter2']],
    ["set password = 'it''s', pin = 1234, name = 'ann'", `set password = '${MASKED}', pin = ${MASKED}, name = 'ann'`, ["it''s", '1234']],
    ['{"token":"hunter2"}', `{"token":"${MASKED}"}`, ['hunter2']],
    [['ann', 'hunter2', 1234, true, null], ['ann', MASKED, MASKED, true, null], ['hunter2', '1234']],
    [{ login: { password: 'hunter2' }, list: ['k1'] }, { login: { password: MASKED }, list: MASKED }, ['hunter2', 'k1']],
    [[['k1'], { a: ['k2', 5n] }], MASKED, ['k1', 'k2', '5']],
    [{ hash: Buffer.from('ab') }, { hash: MASKED }, []],
    ['password', MASKED, []],
    ['ann', 'ann', []],
    ['something else', `not ${MASKED} that`, []],
    [undefined, undefined, []]
  ] as const) t.same(maskedTexts(given, shown), texts, JSON.stringify(shown))
})

t.test('a known secret is masked in each form, and other words stay', async t => {
  for (const [secret, text, shown] of [
    ['hunter2', 'a hunter2, "hunter2"; /reset/hunter2?x=hunter2', `a ${MASKED}, "${MASKED}"; /reset/${MASKED}?x=${MASKED}`],
    ['test', 'a test, "test" of the tests in test/a.ts and test.js, [test].', `a ${MASKED}, "${MASKED}" of the tests in test/a.ts and test.js, [${MASKED}].`],
    ["it''s", 'it\'s it\'\'s it\\\'s', `${MASKED} ${MASKED} ${MASKED}`],
    ['a "b" é', '{"x":"a \\"b\\" é"} a%20%22b%22%20%C3%A9', `{"x":"${MASKED}"} ${MASKED}`],
    ['x1', "x1 invalid input syntax for type integer: \"x1\", Duplicate entry 'x1' for key",
      `x1 invalid input syntax for type integer: "${MASKED}", Duplicate entry '${MASKED}' for key`],
    ['7', "portal parameter $1 = '7' of 7, value: '7'", `portal parameter $1 = '${MASKED}' of 7, value: '${MASKED}'`],
    ['hunter and more', "syntax error near 'hunter an' at line 1", `syntax error near '${MASKED}' at line 1`],
    ["it's hunter", 'near "hunter" or "or", near "us": at or near "\'s hunter", Token ""hunt" is invalid, "hunter"',
      `near "${MASKED}" or "or", near "us": at or near "${MASKED}", Token ""${MASKED}" is invalid, "hunter"`],
    ['{"a": hunter2', 'JSON data, line 1: {"a": hunt...\nand more', `JSON data, line 1: ${MASKED}\nand more`],
    ['0123456789'.repeat(30), `a ${'0123456789'.repeat(50)} b`, `a ${MASKED} b`],
    ['user', 'user_id users user', `user_id users ${MASKED}`]
  ] as const) t.equal(maskerOf([secret])(text), shown, secret)
})

t.test('a mask with known texts masks them in values, and keeps those of path parameters', async t => {
  const first = createMask().withParams({ token: 'from the path' })
  const texts = ['hunter2']
  const mask = first.withTexts(texts)
  t.equal(first.withTexts(texts), mask, 'it is made once')
  t.equal(first.withTexts([]), first)
  t.same(mask.value({ a: ['x hunter2'], b: 'from the path', c: 5 }), { a: [`x ${MASKED}`], b: MASKED, c: 5 })
  t.equal(mask.withTexts(['other']).text('hunter2 and other, from the path'), `${MASKED} and ${MASKED}, ${MASKED}`)
  t.equal(mask.withParams({ token: 'a second one' }).text('hunter2, a second one'), `${MASKED}, ${MASKED}`)
  t.same(createMask().withTexts(['48151623']).value([48151623, 5]), [MASKED, 5])
})

t.test('a failing row is masked as a whole', async t => {
  const mask = createMask()
  t.equal(mask.text('error: x\nDETAIL: Failing row contains (1, a (b), null).'), `error: x\nDETAIL: Failing row contains (${MASKED}).`)
  t.equal(mask.text('Failing row contains (1, cut off'), `Failing row contains (${MASKED})`)
})
