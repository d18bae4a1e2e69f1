import t from 'tap'
import { extendHeader, metaPolicies, policiesIn, rightsUnder, startTags } from '../../../../../lib/profiler/pages/toolbar/policy.js'

const LOCAL = { scheme: 'http', host: 'localhost', authority: 'localhost:3000' } as const
const LAN = { scheme: 'http', host: 'dev.test', authority: 'dev.test' } as const
const TLS = { scheme: 'https', host: 'dev.test', authority: 'dev.test' } as const
const nonces = { style: 'ST', script: 'SC' }
const GOOGLE = "object-src 'none'; script-src 'nonce-a' 'unsafe-inline' 'strict-dynamic' https: http:; base-uri 'none'"
const HELMET = "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';img-src 'self' data:;" +
  "object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' https: 'unsafe-inline';upgrade-insecure-requests"

/** What is allowed, by its first letter: style, script as `j`, connect. */
const brief = ({ style, script, connect }: ReturnType<typeof rightsUnder>): string => `${style ? 's' : ''}${script ? 'j' : ''}${connect ? 'c' : ''}`

t.test('a policy allows or forbids styles, scripts and connections', async (t) => {
  for (const [policy, expected] of [
    ['', 'sjc'],
    ['img-src *', 'sjc'],
    // The origin of the page
    ["default-src 'self'", 'sjc'],
    ["DEFAULT-SRC 'Self'", 'sjc'],
    ['default-src *', 'sjc'],
    ['default-src http:', 'sjc'],
    ['default-src https:', ''],
    ['default-src localhost:3000', 'sjc'],
    ['default-src http://localhost:3000', 'sjc'],
    ['default-src http://localhost:3000/', 'sjc'],
    ['default-src https://localhost:3000', ''],
    ['default-src localhost:*', 'sjc'],
    ['default-src localhost', ''],
    ['default-src localhost:4000 https://cdn.test', ''],
    ['default-src http://localhost:3000/public/', ''],
    ['default-src data: blob:', ''],
    // What has no place for it
    ["default-src 'none'", ''],
    ['default-src', ''],
    ["default-src 'none' 'self'", 'sjc'],
    ["script-src 'none'", 'sc'],
    ["style-src 'none'", 'jc'],
    ["style-src 'nonce-a'; script-src 'nonce-b'", 'c'],
    ["style-src 'sha256-abc='; script-src 'sha256-abc='", 'c'],
    ["style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'", 'c'],
    ["style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'", 'sjc'],
    ["style-src 'self' 'sha256-abc='; script-src 'self' 'nonce-b'", 'sjc'],
    ["default-src 'self'; connect-src https://api.test", 'sj'],
    [HELMET, 'sjc'],
    // 'strict-dynamic' applies to scripts only
    ["default-src 'self' 'strict-dynamic' 'nonce-a'", 'sc'],
    [GOOGLE, 'sc'],
    // Fallbacks
    ["style-src-elem 'self'; style-src 'none'; script-src-elem 'self'; script-src 'none'", 'sjc'],
    ["style-src-elem 'none'; style-src 'self'; script-src-elem 'none'; script-src 'self'", 'c'],
    ["style-src-attr 'none'; script-src-attr 'none'", 'sjc'],
    ["default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'", 'sjc'],
    ["style-src 'self'; style-src 'none'", 'sjc'],
    // Other directives
    ["script-src 'self'; require-trusted-types-for 'script'", 'sc'],
    ["script-src 'self'; trusted-types a", 'sc'],
    ['sandbox', ''],
    ['sandbox allow-scripts', ''],
    ['sandbox allow-same-origin', 'sc'],
    ['sandbox allow-scripts allow-same-origin', 'sjc']
  ] as const) t.equal(brief(rightsUnder([policy], LOCAL)), expected, policy)
})

t.test('a policy applies to the origin of the page', async (t) => {
  for (const [policy, origin, expected] of [
    ['default-src https:', TLS, 'sjc'],
    ['default-src http:', TLS, 'sjc'],
    ['default-src http://dev.test', TLS, 'sjc'],
    ['default-src https://dev.test', LAN, ''],
    ['default-src dev.test', LAN, 'sjc'],
    [HELMET, TLS, 'sjc'],
    [HELMET, LAN, ''],
    ['upgrade-insecure-requests', { scheme: 'http', host: '127.0.0.1', authority: '127.0.0.1:3000' }, 'sjc'],
    ['upgrade-insecure-requests', { scheme: 'http', host: '[::1]', authority: '[::1]:3000' }, 'sjc'],
    ['upgrade-insecure-requests', { scheme: 'http', host: 'app.localhost', authority: 'app.localhost' }, 'sjc'],
    ['upgrade-insecure-requests', { scheme: 'http', host: '127.0.0.1.dev.test', authority: '127.0.0.1.dev.test' }, ''],
    ['default-src [::1]:3000', { scheme: 'http', host: '[::1]', authority: '[::1]:3000' }, ''],
    ["default-src 'self'", { scheme: 'http', host: '', authority: '' }, 'sjc'],
    ['default-src :*', { scheme: 'http', host: '', authority: '' }, '']
  ] as const) t.equal(brief(rightsUnder([policy], origin)), expected, `${policy} on ${origin.authority}`)
})

t.test('every policy must allow a file', async (t) => {
  t.equal(brief(rightsUnder([], LOCAL)), 'sjc')
  t.equal(brief(rightsUnder(["default-src 'self'", "script-src 'none'"], LOCAL)), 'sc')
  t.equal(brief(rightsUnder(policiesIn("default-src 'self', style-src 'none'"), LOCAL)), 'jc')
  t.equal(brief(rightsUnder(policiesIn("default-src 'self',, img-src *"), LOCAL)), 'sjc')
})

t.test('a nonce extends a policy that forbids inline elements', async (t) => {
  for (const [header, expected, extended] of [
    // What allows the files already stays as it is
    ['', 'sjc', ''],
    ["default-src 'self'", 'sjc', "default-src 'self'"],
    ["style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'", 'sjc', "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"],
    ["script-src 'self' 'sha256-abc='", 'sjc', "script-src 'self' 'sha256-abc='"],
    // Nonces
    ["default-src 'nonce-a'", 'sj', "default-src 'nonce-a'; style-src 'nonce-a' 'nonce-ST'; script-src 'nonce-a' 'nonce-SC'"],
    ['script-src https://cdn.test; style-src https://cdn.test', 'sjc', "script-src https://cdn.test 'nonce-SC'; style-src https://cdn.test 'nonce-ST'"],
    ["style-src 'unsafe-inline' 'nonce-a'", 'sjc', "style-src 'unsafe-inline' 'nonce-a' 'nonce-ST'"],
    ["style-src 'none'", 'sjc', "style-src 'nonce-ST'"],
    ["style-src 'sha256-abc='", 'sjc', "style-src 'sha256-abc=' 'nonce-ST'"],
    [GOOGLE, 'sjc', GOOGLE.replace('https: http:', "https: http: 'nonce-SC'")],
    ["script-src-elem https://cdn.test; script-src 'none'", 'sjc', "script-src-elem https://cdn.test 'nonce-SC'; script-src 'none'"],
    ["script-src 'strict-dynamic' 'nonce-a', script-src 'self'", 'sjc', "script-src 'strict-dynamic' 'nonce-a' 'nonce-SC', script-src 'self'"],
    // What a nonce would weaken
    ["style-src 'unsafe-inline'", 'jc', "style-src 'unsafe-inline'"],
    ["script-src 'unsafe-inline'", 'sc', "script-src 'unsafe-inline'"],
    ["script-src 'none'", 'sc', "script-src 'none'"],
    ["script-src 'sha256-abc='", 'sc', "script-src 'sha256-abc='"],
    ["default-src 'none'", 's', "default-src 'none'; style-src 'nonce-ST'"],
    ["script-src 'nonce-a'; trusted-types a", 'sc', "script-src 'nonce-a'; trusted-types a"],
    ['sandbox allow-scripts', '', 'sandbox allow-scripts']
  ] as const) {
    t.equal(brief(rightsUnder(policiesIn(header), LOCAL, true)), expected, header)
    t.equal(extendHeader(header, nonces, LOCAL), extended, header)
  }
  t.equal(extendHeader("default-src 'nonce-a'", { style: 'ST' }, LOCAL), "default-src 'nonce-a'; style-src 'nonce-a' 'nonce-ST'")
})

t.test('policies in a page are respected', async (t) => {
  for (const [markup, expected] of [
    ['<meta charset="utf-8"><meta name="description" content="Content-Security-Policy">', []],
    ['<meta http-equiv="Content-Security-Policy" content="default-src \'self\'">', ["default-src 'self'"]],
    ["<META\n content=\"default-src 'none'\" HTTP-EQUIV='content-security-policy' />", ["default-src 'none'"]],
    ['<meta http-equiv=Content-Security-Policy content=sandbox>', ['sandbox']],
    ['<meta http-equiv="Content-Security-Policy" content="default-src &#39;self&#39; &#x27;unsafe-inline&#x27; &apos;nonce-a&apos;">', ["default-src 'self' 'unsafe-inline' 'nonce-a'"]],
    ['<meta name="a" content="1 > 0"><meta http-equiv="Content-Security-Policy" content="a"><meta http-equiv="Content-Security-Policy" content="b">', ['a', 'b']],
    ['<meta http-equiv="Content-Security-Policy">', ['']],
    ['<meta http-equiv="Content-Security-Policy-Report-Only" content="default-src \'none\'">', []],
    ['<meta http-equiv="X-Content-Security-Policy" content="default-src \'none\'">', []],
    ['<metadata http-equiv="Content-Security-Policy" content="a">', []],
    ['<!-- <meta http-equiv="Content-Security-Policy" content="a"> -->', ['a']]
  ] as const) t.same(metaPolicies(`<!doctype html><head>${markup}</head>`), expected, markup)
})

t.test('start tags are found in linear time, whatever the page contains', async (t) => {
  for (const part of ['<meta ', '<meta "', '<base href=" ', "<meta content='a", '<base<base ']) {
    const page = part.repeat(500_000)
    const started = performance.now()
    metaPolicies(page)
    startTags(page, 'base')
    t.ok(performance.now() - started < 5_000, part)
  }
})
