import t from 'tap'
import { maskExceptions } from '../../../lib/errors/masked-exceptions.js'
import { createMask } from '../../../lib/mask/mask.js'

t.test('secrets are masked in all texts and members of an exception', async t => {
  const text = 'token=abc'
  const shown = 'token=******'
  const frame = { file: '/a.ts', line: 1, column: 2, own: true, excerpt: { start: 1, lines: [text] } }
  const given = { name: text, message: text, stack: `Error: ${text}`, code: text, note: text, statusCode: 400, frames: [{ ...frame, function: text }] }
  const expected = { name: shown, message: shown, stack: `Error: ${shown}`, code: shown, note: shown, statusCode: 400, frames: [{ ...frame, function: shown }] }
  t.strictSame(maskExceptions([{ ...given, errors: [[given]] }], createMask()), [{ ...expected, errors: [[expected]] }])
  const bare = { name: 'Error', message: '', stack: '', frames: [] }
  t.strictSame(maskExceptions([bare], createMask()), [bare], 'nothing is added')
})

t.test('secrets in an excerpt are masked, and the code stays valid', async t => {
  const mask = createMask()
  for (const [line, expected] of [
    ["const db = connect('postgres://u:pw@db/shop')", "const db = connect('postgres://u:******@db/shop')"],
    ["  login({ password: 'hunter2', user: 'me' })", "  login({ password: '******', user: 'me' })"],
    ['login({ password: "it\'s me" })', 'login({ password: "******" })'],
    ['config["apiKey"] = "abc def"', 'config["apiKey"] = "******"'],
    ["headers: { authorization: 'Bearer abc.def' }", "headers: { authorization: '******' }"],
    ['fetch(`https://a.test/?token=abc&b=c`)', 'fetch(`https://a.test/?token=******&b=c`)'],
    ['const token = request.headers.token', 'const token = request.headers.token'],
    ['if (password === null) throw new Error("no password")', 'if (password === null) throw new Error("no password")'],
    ['const session = await load(token, { secret })', 'const session = await load(token, { secret })'],
    ['  session: { secret: process.env.SECRET },', '  session: { secret: process.env.SECRET },']
  ] as const) {
    const frame = { file: '/a.ts', line: 1, column: 2, own: true, function: 'f', excerpt: { start: 1, lines: [line] } }
    const [exception] = maskExceptions([{ name: 'E', message: '', stack: '', frames: [frame] }], mask)
    t.same(exception?.frames[0]?.excerpt, { start: 1, lines: [expected] }, line)
  }
})
