import t from 'tap'
import { createMask } from '../../src/mask/mask.js'
import { growthOf } from '../support/cpu-time.js'

const mask = createMask()

/** Parts of hostile texts, as the expressions see them: each is repeated. */
const PIECES = [
  '://a:b', '://a:1/', '://', '://a:', '://aaaaaaaaaaaaaaaaaaaa', 'user:pass@', 'http://hooks.slack.com/a', 'bot1', 'bot123:', 'eyJ-', 'eyJaaaaa.',
  'Bearer ', 'Basic ', 'basic Ojo6', '-----BEGIN PRIVATE KEY-----', '4111 1111 ', '1234', 'a3b', '0f', 'sk-', 'pat', 'dp.pt.', '1//0', 'access-',
  'v1.0-', 'x.atlasv1.', 'fo1_', 'AQE', 'aA0', 'a-', 'a_', '$argon2i$', 'scrypt$', 'pbkdf2:', 'seed|crypt(',
  'a=', 'a=b&', "a='b\"", 'x:', 'a: ', '"', "'", '\\', '\\"', '[', 'a["', 'K', 'otp|', '|password', ':seed|', '//password:', '/etc/passwd:', 'user[pass',
  'token=', 'token="', 'token="\\"', "token='\"", 'token: ', 'token:\\"', 'token: a:', 'token:a', 'token=a,b', 'token={', 'token=[x', '{token:', 'token,',
  'token=A', 'Set(2) {', 'API key', 'password: x ', 'code=', 'code: a', 'code=a1', 'token={\n'.repeat(125) + '\\"'.repeat(500),
  'Cookie: ', 'Cookie: a=', '"Cookie: a', 'cookie: a=b;', 'x Cookie:`', '?a=', '?a=b', 'name=password&', '/a=', ';a=',
  '%', '%25', '%3D', '%253D', 'a%3D', 'a=%3D&', '%E0%A4', '<a ', '<token>', '<token>a', '<a name=token value=', '<![CDATA[',
  'a,token\n', 'token,a\n1,"', 'select a,', 'update a set ', "insert into 'token ", 'identified by ', 'Key (a)=(', "Duplicate entry '",
  'Failing row contains (', 'Failed query: \nparams: ', "(password) values ('", '\x1b[31m', '    at a:1\n', ' ', '\n', '\r', "'nonce-"
]

t.test('the work of each mask is linear in the length of a hostile text', async t => {
  for (const [kind, run] of [
    ['text', mask.text], ['URL', (text: string) => mask.url(`/?${text}`)], ['source', (text: string) => mask.source(text.split('\n'))],
    ['decoded base64', (text: string) => mask.text(`Basic ${Buffer.from(text).toString('base64')}`)],
    ['decoded percent-encoding', (text: string) => mask.url(`/?a=${encodeURIComponent(text)}`)]
  ] as const) {
    for (const piece of PIECES) t.ok(growthOf(run, piece, 20_000) <= 3.2, `${kind}: ${JSON.stringify(piece.slice(0, 40))}`)
  }
  for (const piece of PIECES) t.type(mask.hides(piece.repeat(10_000)), 'boolean')
})
