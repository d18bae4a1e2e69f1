import t from 'tap'
import { generateNonce, noncesOf, withNonce } from '../../src/http/responses.js'

t.test('a nonce is added to one directive, and the others are unchanged', async t => {
  for (const [name, policy, expected] of [
    ['beside the sources', "default-src 'none'; style-src 'self'", "default-src 'none'; style-src 'self' 'nonce-N'"],
    ["instead of 'none'", "style-src 'none'", "style-src 'nonce-N'"],
    ['an empty directive', 'style-src', "style-src 'nonce-N'"],
    ['by the fallback', "default-src 'self' https://a.test", "default-src 'self' https://a.test; style-src 'self' https://a.test 'nonce-N'"],
    ["by a fallback of 'none'", "default-src 'none'", "default-src 'none'; style-src 'nonce-N'"],
    ['no restriction, no change', "script-src 'self'; img-src *", "script-src 'self'; img-src *"],
    ['names in any case', "STYLE-SRC 'NONE'", "style-src 'nonce-N'"],
    ['scripts stay as they are', "default-src 'none'; script-src 'none'", "default-src 'none'; script-src 'none'; style-src 'nonce-N'"]
  ] as const) t.equal(withNonce(policy.split('; '), 'style-src', 'N').join('; '), expected, name)
})

t.test('without a nonce the directives are the same', async t => {
  const parts = ["default-src 'self'"]
  t.equal(withNonce(parts, 'style-src', ''), parts)
})

t.test('nonces are drawn when they are first read, and then stay the same', async t => {
  const state = { scriptNonce: '', styleNonce: '' }
  const nonces = noncesOf(state)
  t.same([state.scriptNonce, state.styleNonce], ['', ''])
  t.equal(nonces.script, state.scriptNonce)
  t.equal(state.styleNonce, '')
  t.equal(nonces.style, noncesOf(state).style)
  t.match(generateNonce(), /^[A-Za-z0-9+/]{22}==$/)
  t.not(generateNonce(), generateNonce())
})
