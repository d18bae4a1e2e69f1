import t from 'tap'
import { allowStyle, drawNonce, noncesOf, withNonce } from '../../plugins/kernel/content-policy.js'
import { RequestState } from '../../plugins/kernel/request-state.js'

t.test('one more style element is allowed, and nothing else', async t => {
  for (const [name, policy, expected] of [
    ['beside the sources', "default-src 'none'; style-src 'self'", "default-src 'none'; style-src 'self' 'nonce-N'"],
    ["instead of 'none'", "style-src 'none'", "style-src 'nonce-N'"],
    ['an empty directive', 'style-src', "style-src 'nonce-N'"],
    ['by the fallback', "default-src 'self' https://a.test", "default-src 'self' https://a.test; style-src 'self' https://a.test 'nonce-N'"],
    ["by a fallback of 'none'", "default-src 'none'", "default-src 'none'; style-src 'nonce-N'"],
    ['where elements have a directive of their own', "style-src 'none'; style-src-elem 'self'", "style-src 'none'; style-src-elem 'self' 'nonce-N'"],
    ['no restriction, no change', "script-src 'self';img-src *", "script-src 'self';img-src *"],
    ['an empty policy', '', ''],
    ['inline styles are allowed already: a nonce would forbid them', "style-src 'self' 'unsafe-inline'", "style-src 'self' 'unsafe-inline'"],
    ['the same by the fallback', "default-src 'unsafe-inline'", "default-src 'unsafe-inline'"],
    ['a nonce has switched them off', "style-src 'unsafe-inline' 'nonce-A'", "style-src 'unsafe-inline' 'nonce-A' 'nonce-N'"],
    ['a hash has', "style-src 'unsafe-inline' 'sha256-A'", "style-src 'unsafe-inline' 'sha256-A' 'nonce-N'"],
    ['names in any case', "STYLE-SRC 'NONE'", "style-src 'nonce-N'"],
    ['several policies', "style-src 'self', default-src 'none'", "style-src 'self' 'nonce-N',default-src 'none'; style-src 'nonce-N'"],
    ['scripts stay as they are', "default-src 'none'; script-src 'none'", "default-src 'none'; script-src 'none'; style-src 'nonce-N'"]
  ] as const) t.equal(allowStyle(policy, 'N'), expected, name)
})

t.test('without a nonce the directives are the same', async t => {
  const parts = ["default-src 'self'"]
  t.equal(withNonce(parts, 'style-src', ''), parts)
})

t.test('nonces are drawn when they are read, and kept', async t => {
  const state = new RequestState()
  const nonces = noncesOf(state)
  t.equal(state.scriptNonce + state.styleNonce, '')
  t.equal(nonces.script, state.scriptNonce)
  t.equal(state.styleNonce, '')
  t.equal(nonces.style, noncesOf(state).style)
  t.match(drawNonce(), /^[A-Za-z0-9+/]{22}==$/)
  t.not(drawNonce(), drawNonce())
})
