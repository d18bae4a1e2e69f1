import fc from 'fast-check'
import t from 'tap'
import { isSafe, storedRequest } from '../../../src/reading/replay/stored-request.js'
import { failure, profile } from '../../parts/fixture.js'
import { hostileProfile, requested } from '../formats/stored.js'
import { sample } from '../../parts/sample.js'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

t.test('the stored request equals the original', async (t) => {
  for (const [name, request, expected] of [
    [
      'target and host', { target: '/a/%C3%A9?x=1&x=2&y', headers: { host: 'shop.test:8080', 'x-a': 'b', 'content-length': '3', connection: 'close' } },
      { target: '/a/%C3%A9?x=1&x=2&y', headers: { host: 'shop.test:8080', 'x-a': 'b' }, body: undefined }
    ],
    ['lists', { headers: { 'x-a': ['1', '2'] } }, { headers: { 'x-a': ['1', '2'] } }],
    ['JSON', { headers: JSON_TYPE, body: { a: [1, null, 'x'] } }, { body: '{"a":[1,null,"x"]}' }],
    ['a form', { headers: FORM_TYPE, body: { 'a b': 'c&d', list: ['1', '2'] } }, { body: 'a+b=c%26d&list=1&list=2' }],
    ['text', { headers: { 'content-type': 'text/plain' }, body: 'x\ny' }, { body: 'x\ny' }],
    ['no target', {}, { target: '/robots.txt' }]
  ] as const) t.match(storedRequest(requested(request, { method: 'POST' })), expected, name)
})

t.test('masked values are replaced in their own encoding, or omitted', async (t) => {
  const profile = requested({
    target: '/reset/******?key=******&x=1',
    headers: { ...JSON_TYPE, authorization: 'Bearer ******', cookie: 'sid=******; a=1' },
    body: { user: { password: '******' }, list: ['******', 2], token: 'a ****** b' }
  }, { method: 'POST' })
  t.same(storedRequest(profile).masked.map(({ name, env, required }) => [name, env, required]), [
    ['path.2', 'HINDSIGHT_PATH_2', true], ['query.key', 'HINDSIGHT_QUERY_KEY', false], [
      'authorization', 'HINDSIGHT_AUTHORIZATION', false
    ], ['cookie.sid', 'HINDSIGHT_COOKIE_SID', false],
    [
      'body.user.password', 'HINDSIGHT_BODY_USER_PASSWORD', false
    ], ['body.list[0]', 'HINDSIGHT_BODY_LIST_0', false], ['body.token', 'HINDSIGHT_BODY_TOKEN', false]
  ])
  t.equal(storedRequest(profile).target, '/reset/******?x=1')
  t.match(
    storedRequest(profile, ({ name }) => name === 'path.2' ? 'a/b?c' : undefined),
    { method: 'POST', target: '/reset/a%2Fb%3Fc?x=1', headers: { ...JSON_TYPE, cookie: 'a=1' }, body: '{"user":{},"list":[2]}' }
  )
  const values = new Map([
    ['path.2', 'p'], ['query.key', 'a&b'], ['authorization', 'x'], ['cookie.sid', 's'], ['body.user.password', '"q"'], ['body.list[0]', 'l'],
    ['body.token', '\n']
  ])
  t.match(storedRequest(profile, ({ name }) => values.get(name)), {
    method: 'POST',
    target: '/reset/p?key=a%26b&x=1',
    headers: { ...JSON_TYPE, authorization: 'Bearer x', cookie: 'sid=s; a=1' },
    body: '{"user":{"password":"\\"q\\""},"list":["l",2],"token":"a \\n b"}'
  })
  t.match(storedRequest(profile, () => '******').headers, { authorization: 'Bearer ******' })
})

t.test('masked values have different names, even if their fields are similar', async (t) => {
  const { masked } = storedRequest(
    requested({ headers: { ...FORM_TYPE, cookie: 'a.b=******; a-b=******; a b=******' }, body: { __proto__: null, 'a.b': '******' } }, { method: 'POST' })
  )
  t.equal(new Set(masked.map(({ name }) => name)).size, 4)
  t.equal(new Set(masked.map(({ env }) => env)).size, 4)
})

t.test('an incomplete, binary or missing body is not sent, with the reason', async (t) => {
  for (const [name, request, why] of [
    ['a text within it', { headers: JSON_TYPE, body: { a: 'x… (1,200 more bytes)' } }, 'it was truncated'],
    ['fields of it', { headers: JSON_TYPE, body: { a: { '…': '3 more fields' } } }, 'it was truncated'],
    [
      'octets', { headers: { 'content-type': 'image/png' }, body: '[binary, 12 bytes, image/png]' },
      'the profile has in its place only [binary, 12 bytes, image/png]'
    ],
    ['a stream', { body: '[stream Readable]' }, 'the profile has in its place only [stream Readable]'],
    [
      'files', { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: { a: '[file a.png]' } }, 'the profile has in its place only [file a.png]'
    ],
    ['no JSON', { headers: JSON_TYPE, body: null, bodyNote: 'not parsed: x' }, 'it was not parsed: x'],
    ['a body that was not read', { headers: { 'content-length': '12' }, body: null }, 'it was not read, or not by Fastify, and is not stored'],
    [
      'one of a parser that we do not know', { headers: { 'content-type': 'application/xml' }, body: { a: 1 } },
      'its text is not stored, only the result of its parser'
    ]
  ] as const) t.match(storedRequest(requested(request, { method: 'POST' })), { body: undefined, bodyProblem: why }, name)
  t.equal(storedRequest(requested({ headers: {}, body: null })).bodyProblem, undefined)
})

t.test('other differences have notes', async (t) => {
  const { notes } = storedRequest(
    requested({ headers: { 'x-cut': 'a… (9 more bytes)', 'x-bad': 'a\r\nb: c', 'bad name': 'x', 'content-encoding': 'gzip' } }, { url: '/x' })
  )
  t.same(notes, [
    'The header x-cut was truncated.', 'The header x-bad cannot be sent.', 'The header bad name cannot be sent.',
    'The header content-encoding is left out, as the body is stored decoded.'
  ])
})

t.test('a malformed request cannot be sent', async (t) => {
  t.throws(() => storedRequest(profile('3fa94c', { method: 'GET /x' })), /Its method cannot be sent/)
  t.throws(() => storedRequest(failure('3fa94c', { collectors: { request: { rawMessage: 'GARBAGE' } } })), /It was refused by the HTTP parser/)
})

t.test('any target is valid in HTTP', async (t) => {
  fc.assert(fc.property(hostileProfile, (one) => {
    const { target, headers } = storedRequest(one)
    if (!/^\/[!$&-;=?-Z[\]_a-z~%]*$/.test(target)) throw new Error(target)
    if (Object.values(headers).flat().some((value) => /[^\t -~\x80-\xff]/.test(value))) throw new Error('a header')
  }))
  t.ok(storedRequest(sample('\u0000<>"')).target.length > 0)
})

t.test('the safe methods are those of RFC 9110, and QUERY of RFC 10008', async (t) => {
  const methods = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'POST', 'PUT', 'DELETE', 'PATCH', 'get', 'QUERY', 'PROPFIND']
  t.same(methods.filter(isSafe), ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'])
})
