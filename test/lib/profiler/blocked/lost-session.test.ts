import t from 'tap'
import { lostSession, type SessionFacts } from '../../../../lib/profiler/blocked/cookies.js'

const cookie = { name: 'sid', path: '/', sameSite: 'lax', secure: 'auto' } as const
const base: SessionFacts = { cookie, sent: false, used: true, security: null, method: 'POST', path: '/a', scheme: 'http', site: 'cross-site', mode: 'cors' }
const nothing = { firewall: null, user: null, authenticatedBy: null, roles: [], inheritedRoles: [], decisions: [], expression: null }
const denied = { ...nothing, authenticators: [{ name: 'session', outcome: 'not supported' as const }], rule: { index: 0, path: '/', methods: [], ips: [], roles: ['ROLE_A'], granted: false } }

t.test('a session that was needed and did not come', async (t) => {
  for (const [name, changes, why] of [
    ['lax, cross-site', {}, /"sid" did not come with the request: the request is cross-site \(Sec-Fetch-Site\), and browsers send a cookie with SameSite=Lax from other sites with links only; the option session\.cookie\.sameSite decides\.$/],
    ['strict, a link', { cookie: { ...cookie, sameSite: 'strict' }, method: 'GET', mode: 'navigate' }, /SameSite=Strict within its own site only/],
    ['true is strict', { cookie: { ...cookie, sameSite: true }, method: 'GET', mode: 'navigate' }, /Strict/],
    ['nothing said is lax', { cookie: { ...cookie, sameSite: false } }, /Lax/],
    ['a form', { mode: 'navigate' }, /Lax/],
    ['a rule refused', { used: false, security: denied }, /Lax/],
    ['another path', { cookie: { ...cookie, path: '/admin' }, path: '/administer', site: undefined }, /only to \/admin and paths below it; the option session\.cookie\.path decides/],
    ['Secure', { cookie: { ...cookie, secure: true }, site: undefined }, /Secure, and the request came by http; the option session\.cookie\.secure decides/]
  ] as Array<[string, Partial<SessionFacts>, RegExp]>) t.match(lostSession({ ...base, ...changes })?.sentence, why, name)
})

t.test('nothing is said where nothing was lost', async (t) => {
  for (const [name, changes] of [
    ['no sessions', { cookie: null }], ['it came', { sent: true }], ['nobody looked at it', { used: false }], ['same-origin', { site: 'same-origin' }], ['no browser', { site: undefined }],
    ['a link, lax', { method: 'GET', mode: 'navigate' }], ['none', { cookie: { ...cookie, sameSite: 'none' } }], ['below its path', { cookie: { ...cookie, path: '/a' }, path: '/a/b', site: undefined }],
    ['the rule let pass', { used: false, security: { ...denied, rule: { ...denied.rule, granted: true } } }]
  ] as Array<[string, Partial<SessionFacts>]>) t.equal(lostSession({ ...base, ...changes }), null, name)
})
