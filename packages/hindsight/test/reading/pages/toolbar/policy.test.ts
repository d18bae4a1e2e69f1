import t from 'tap'
import { allowsToolbar, extendHeader, forbidsToolbar } from '../../../../src/reading/pages/toolbar/policy.js'

const LOCAL = { scheme: 'http', authority: 'localhost:3000' } as const
const TLS = { scheme: 'https', authority: 'dev.test' } as const
const nonces = { style: 'ST', script: 'SC' }
const GOOGLE = "object-src 'none'; script-src 'nonce-a' 'unsafe-inline' 'strict-dynamic' https: http:; base-uri 'none'"
const HELMET = "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';img-src 'self' data:;" +
  "object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' https: 'unsafe-inline';upgrade-insecure-requests"

t.test('a policy allows or forbids the files of the toolbar', async (t) => {
  for (const [policy, expected] of [
    ['', true],
    ['img-src *', true],
    // The origin of the page
    ["default-src 'self'", true],
    ["DEFAULT-SRC 'Self'", true],
    ['default-src *', true],
    ['default-src http:', true],
    ['default-src https:', false],
    ['default-src localhost:3000', true],
    ['default-src http://localhost:3000', true],
    ['default-src https://localhost:3000', false],
    ['default-src localhost', false],
    ['default-src localhost:4000 https://cdn.test', false],
    ['default-src http://localhost:3000/public/', false],
    ['default-src data: blob:', false],
    ["default-src 'none'", false],
    ['default-src', false],
    ["default-src 'none' 'self'", true],
    ["script-src 'none'", false],
    ["style-src 'none'", false],
    ["style-src 'nonce-a'; script-src 'nonce-b'", false],
    ["style-src 'sha256-abc='; script-src 'sha256-abc='", false],
    ["style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'", false],
    ["style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'", true],
    ["style-src 'self' 'sha256-abc='; script-src 'self' 'nonce-b'", true],
    ["default-src 'self'; connect-src https://api.test", true],
    [HELMET, true],
    // 'strict-dynamic' applies to scripts only
    ["default-src 'self' 'strict-dynamic' 'nonce-a'", false],
    ["style-src 'self' 'strict-dynamic'", true],
    [GOOGLE, false],
    // Fallbacks
    ["style-src-elem 'self'; style-src 'none'; script-src-elem 'self'; script-src 'none'", true],
    ["style-src-elem 'none'; style-src 'self'", false],
    ["style-src-attr 'none'; script-src-attr 'none'", true],
    ["default-src 'none'; style-src 'self'; script-src 'self'", true],
    ["style-src 'self'; style-src 'none'", true],
    // Other directives
    ["script-src 'self'; require-trusted-types-for 'script'", false],
    ["script-src 'self'; trusted-types a", false],
    ['sandbox allow-scripts allow-same-origin', false]
  ] as const) t.equal(allowsToolbar([policy], LOCAL, false), expected, policy)
  t.equal(allowsToolbar(['default-src https:'], TLS, false), true)
  t.equal(allowsToolbar(['default-src dev.test'], TLS, false), true)
  t.equal(allowsToolbar(['default-src http://dev.test'], TLS, false), false)
  t.equal(allowsToolbar(['default-src //'], { scheme: 'http', authority: '' }, false), false)
})

t.test('every policy must allow the files', async (t) => {
  t.equal(allowsToolbar([], LOCAL, false), true)
  t.equal(allowsToolbar(["default-src 'self'", "script-src 'none'"], LOCAL, false), false)
  t.equal(allowsToolbar(["default-src 'self', style-src 'none'"], LOCAL, false), false)
  t.equal(allowsToolbar(["default-src 'self',, img-src *"], LOCAL, false), true)
})

t.test('a nonce extends a policy that does not allow the files', async (t) => {
  for (const [header, expected, extended] of [
    // What allows the files already stays as it is
    ['', true, ''],
    ["default-src 'self'", true, "default-src 'self'"],
    ["style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'", true, "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"],
    // Nonces
    ["default-src 'nonce-a'", true, "default-src 'nonce-a'; style-src 'nonce-a' 'nonce-ST'; script-src 'nonce-a' 'nonce-SC'"],
    ['script-src https://cdn.test; style-src https://cdn.test', true, "script-src https://cdn.test 'nonce-SC'; style-src https://cdn.test 'nonce-ST'"],
    ["style-src 'unsafe-inline' 'nonce-a'", true, "style-src 'unsafe-inline' 'nonce-a' 'nonce-ST'"],
    ["style-src 'none'", true, "style-src 'nonce-ST'"],
    ["style-src 'sha256-abc='", true, "style-src 'sha256-abc=' 'nonce-ST'"],
    [GOOGLE, true, GOOGLE.replace('https: http:', "https: http: 'nonce-SC'")],
    ["script-src-elem https://cdn.test; script-src 'none'", true, "script-src-elem https://cdn.test 'nonce-SC'; script-src 'none'"],
    ["script-src 'strict-dynamic' 'nonce-a', script-src 'self'", true, "script-src 'strict-dynamic' 'nonce-a' 'nonce-SC', script-src 'self'"],
    // What a nonce would weaken
    ["style-src 'unsafe-inline'", false, "style-src 'unsafe-inline'"],
    ["script-src 'unsafe-inline'", false, "script-src 'unsafe-inline'"],
    ["script-src 'none'", false, "script-src 'none'"],
    ["script-src 'sha256-abc='", false, "script-src 'sha256-abc='"],
    ["default-src 'none'", false, "default-src 'none'; style-src 'nonce-ST'"],
    ["script-src 'nonce-a'; trusted-types a", false, "script-src 'nonce-a'; trusted-types a"],
    ['sandbox allow-scripts', false, 'sandbox allow-scripts']
  ] as const) {
    t.equal(allowsToolbar([header], LOCAL, true), expected, header)
    t.equal(extendHeader(header, nonces, LOCAL), extended, header)
  }
})

t.test('a policy in the page is found, in linear time whatever the page contains', async (t) => {
  for (const [markup, expected] of [
    ['<meta charset="utf-8"><meta name="description" content="Content-Security-Policy">', false],
    ['<meta http-equiv="Content-Security-Policy" content="default-src \'self\'">', true],
    ["<META\n content=\"default-src 'none'\" HTTP-EQUIV='content-security-policy' />", true],
    ['<meta http-equiv=Content-Security-Policy content=sandbox>', true],
    ['<meta http-equiv="Content-Security-Policy-Report-Only" content="default-src \'none\'">', false],
    ['<meta http-equiv="X-Content-Security-Policy" content="default-src \'none\'">', false]
  ] as const) t.equal(forbidsToolbar(`<!doctype html><head>${markup}</head>`), expected, markup)
  for (const part of ['<meta ', '<meta "', ' http-equiv', ' http-equiv=', ' ']) {
    // Work that is quadratic in this length takes hours: the time limit of the test ends it.
    t.type(forbidsToolbar(` http-equiv=${part.repeat(500_000)}`), 'boolean', part)
  }
})
