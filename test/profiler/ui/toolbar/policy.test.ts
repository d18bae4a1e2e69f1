import t from 'tap'
import { barRights, extendPolicy } from '../../../../plugins/profiler/ui/toolbar/policy.js'

const nonces = { style: 'ST', script: 'SC' }

t.test('what a policy leaves to the bar, and how it is extended', async t => {
  for (const [header, script, connect, extended] of [
    ['', true, true, ''],
    ['img-src *', true, true, 'img-src *'],
    ["default-src 'self'", true, true, "default-src 'self'; style-src 'self' 'nonce-ST'; script-src 'self' 'nonce-SC'"],
    ["script-src 'self'; style-src *", true, true, "script-src 'self' 'nonce-SC'; style-src * 'nonce-ST'"],
    ["script-src-elem 'self'; script-src 'none'", true, true, "script-src-elem 'self' 'nonce-SC'; script-src 'none'"],
    ["script-src 'unsafe-inline'", true, true, "script-src 'unsafe-inline'"],
    ["script-src 'unsafe-inline' 'nonce-a'", true, true, "script-src 'unsafe-inline' 'nonce-a' 'nonce-SC'"],
    ["script-src 'strict-dynamic' 'nonce-a'", true, true, "script-src 'strict-dynamic' 'nonce-a' 'nonce-SC'"],
    ["SCRIPT-SRC 'Self'", true, true, "script-src 'Self' 'nonce-SC'"],
    ["default-src 'self'; connect-src https://a.test", true, false, "default-src 'self'; connect-src https://a.test; style-src 'self' 'nonce-ST'; script-src 'self' 'nonce-SC'"],
    ["default-src 'none'; script-src 'self'", true, false, "default-src 'none'; script-src 'self' 'nonce-SC'; style-src 'nonce-ST'"],
    ["script-src 'none'", false, true, "script-src 'none'"],
    ['script-src', false, true, 'script-src'],
    ["script-src 'self' 'sha256-abc='", false, true, "script-src 'self' 'sha256-abc='"],
    ["script-src 'self'; require-trusted-types-for 'script'", false, true, "script-src 'self'; require-trusted-types-for 'script'"],
    ["script-src 'self'; trusted-types a", false, true, "script-src 'self'; trusted-types a"],
    ['sandbox', false, false, 'sandbox'],
    ['sandbox allow-scripts', true, false, 'sandbox allow-scripts'],
    ["script-src 'self', script-src https:", true, true, "script-src 'self' 'nonce-SC',script-src https: 'nonce-SC'"],
    ["script-src 'self', script-src 'none'", false, true, "script-src 'self', script-src 'none'"]
  ] as const) {
    const rights = barRights([header])
    t.same(rights, { script, connect }, header)
    t.equal(extendPolicy(header, nonces, rights), extended, header)
  }
})

t.test('one header that does not leave it is enough', async t => {
  t.same(barRights(["script-src 'self'", "script-src 'none'"]), { script: false, connect: true })
  t.same(barRights([]), { script: true, connect: true })
})
