import fc from 'fast-check'
import t from 'tap'
import { hostileProfile, requested, written } from './stored.js'

/** The lines that the clients of editors act upon. */
function acted (text: string): string[] {
  return text.split('\n').filter((line) => /^\s*(?:###|[<>]|[A-Z]+ http)/.test(line) && !/^\s*<[A-Za-z/!?]/.test(line))
}

t.test('a file has exactly one request, and no other directive of an editor', async (t) => {
  fc.assert(fc.property(hostileProfile, (profile) => {
    const text = written('http', profile)
    const lines = acted(text)
    if (lines.length !== 1 || !/^POST http:\/\/127\.0\.0\.1:3000\/\S* HTTP\/1\.1$/.test(lines[0] ?? '')) throw new Error(lines.join('\n'))
    if (text.split('\n').some((line) => !line.startsWith('#') && line.includes('{{'))) throw new Error('a variable')
    if (/[^\P{Cc}\n\t]/u.test(text)) throw new Error('a control')
  }), { numRuns: 300 })
})

t.test('a file is readable', async (t) => {
  t.equal(written('http', requested(
    { target: '/orders', headers: { host: 'h.test', authorization: 'Bearer ******', 'content-type': 'application/json' }, body: { a: 'x', token: '******' } },
    { method: 'PUT' }
  )), `# Made from the profile 3fa94c of 2026-01-02T03:04:05.678Z: 200 PUT http://127.0.0.1:3000/robots.txt
# The profile has these masked: write them here, encoded as in the request.
@HINDSIGHT_AUTHORIZATION = masked
@HINDSIGHT_BODY_TOKEN = masked

PUT http://127.0.0.1:3000/orders HTTP/1.1
host: h.test
authorization: Bearer {{HINDSIGHT_AUTHORIZATION}}
content-type: application/json

{"a":"x","token":"{{HINDSIGHT_BODY_TOKEN}}"}
`)
})

t.test('unsupported parts are omitted, with a comment', async (t) => {
  for (const [name, request, method] of [
    ['a line that begins a request', { headers: { 'content-type': 'text/plain' }, body: 'a\n### b' }, 'POST'],
    ['a file that would be read', { headers: { 'content-type': 'text/plain' }, body: '< ./.env' }, 'POST'],
    ['a variable', { headers: { 'content-type': 'application/json' }, body: { a: '{{x}}' } }, 'POST'],
    ['a header with a variable', { headers: { 'x-a': '{{$processEnv HOME}}' } }, 'GET'],
    ['a header that is a comment', { headers: { '###': 'x' } }, 'GET']
  ] as const) t.match(written('http', requested(request, { method })), '# Headers or the body are left out: editors would interpret them.', name)
  t.throws(() => written('http', requested({}, { method: '###' })), { message: 'An HTTP file cannot have its method.' })
})
