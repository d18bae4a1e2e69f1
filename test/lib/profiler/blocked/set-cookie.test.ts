import t from 'tap'
import { droppedCookies, type CookieContext } from '../../../../lib/profiler/blocked/blocked.js'

const HTTPS: CookieContext = { scheme: 'https', host: 'app.example', site: undefined, mode: undefined, sessionCookie: 'sid' }
const HTTP: CookieContext = { ...HTTPS, scheme: 'http' }
const CROSS: CookieContext = { ...HTTPS, site: 'cross-site', mode: 'cors' }

t.test('valid cookies are not reported', async (t) => {
  for (const [name, line, context] of [
    ['plain', 'a=1', HTTP], ['secure by https', 'a=1; Secure', HTTPS], ['None with Secure', 'a=1; SameSite=None; Secure', HTTPS],
    ['the host itself', 'a=1; Domain=app.example', HTTPS], ['above it, with a dot', 'a=1; Domain=.app.example', { ...HTTPS, host: 'www.app.example' }],
    ['__Host-', '__Host-a=1; Secure; Path=/', HTTPS], ['__Host- with an empty Domain', '__Host-a=1; Secure; Path=/; Domain=', HTTPS], ['__Secure-', '__Secure-a=1; Secure', HTTPS],
    ['Secure by http on localhost', 'a=1; Secure', { ...HTTP, host: 'localhost' }], ['Secure by http on ::1', 'a=1; Secure', { ...HTTP, host: '[::1]' }],
    ['a cross-site navigation', 'a=1', { ...CROSS, mode: 'navigate' }], ['None, cross-site', 'a=1; SameSite=None; Secure', CROSS],
    ['the last of two', 'a=1; Domain=other.example; Domain=app.example', HTTPS], ['localhost', 'a=1; Domain=localhost', { ...HTTP, host: 'localhost' }],
    ['same-site', 'a=1', { ...CROSS, site: 'same-site' }], ['an address', 'a=1; Domain=127.0.0.1', { ...HTTP, host: '127.0.0.1' }], ['no header at all', undefined, HTTPS]
  ] as const) t.same(droppedCookies(line, context), [], name)
})

t.test('a cookie that browsers reject is reported with the rule and the option', async (t) => {
  for (const [name, line, context, why, option] of [
    ['Secure by http', 'a=secret; Secure', HTTP, /^The browser drops the cookie "a": it is Secure, and the request came by http; the option secure of the cookie decides\.$/, /secure/],
    ['the session\'s', 'sid=secret; Secure', HTTP, /"sid": it is Secure/, /^session\.cookie\.secure$/],
    ['None without Secure', 'a=secret; samesite=NONE', HTTPS, /SameSite=None without Secure/, /secure/],
    ['__Secure-', '__secure-a=secret', HTTPS, /prefix of its name needs Secure/, /secure/],
    ['__Host- without Secure', '__Host-a=secret; Path=/', HTTPS, /needs Secure/, /secure/],
    ['__Host- without Path', '__Host-a=secret; Secure', HTTPS, /needs Path=\//, /path/],
    ['__Host- with another Path', 'sid=1; Path=/; Path=/b'.replace('sid', '__Host-a') + '; Secure', HTTPS, /needs Path=\//, /path/],
    ['__Host- with Domain', '__Host-a=secret; Secure; Path=/; Domain=app.example', HTTPS, /allows no Domain/, /domain/],
    ['another Domain', 'a=secret; Domain=other.example', HTTPS, /its Domain other\.example is neither the host app\.example/, /domain/],
    ['a Domain below', 'a=secret; Domain=www.app.example', HTTPS, /Domain/, /domain/],
    ['a name that only ends so', 'a=secret; Domain=app.example', { ...HTTPS, host: 'myapp.example' }, /Domain/, /domain/],
    ['a public suffix', 'a=secret; Domain=example', HTTPS, /Domain example/, /domain/],
    ['a part of an address', 'a=secret; Domain=0.0.1', { ...HTTP, host: '127.0.0.1' }, /Domain/, /domain/],
    ['cross-site', 'a=secret', CROSS, /its SameSite is lax/, /sameSite/],
    ['cross-site, strict', 'sid=secret; SameSite=Strict', CROSS, /its SameSite is strict/, /^session\.cookie\.sameSite$/]
  ] as const) {
    const [refusal, ...more] = droppedCookies(line, context)
    t.match(refusal, { kind: 'cookie', sentence: why, option }, name)
    t.same(more, [], name)
    t.notMatch(JSON.stringify(refusal), 'secret', name)
  }
  t.equal(droppedCookies(['a=1; Secure', 'b=1', 'c=1; Secure'], HTTP).length, 2)
  t.match(droppedCookies(`\u001b[31m${'x'.repeat(200)}=1; Secure`, HTTP)[0]?.sentence, /"␛\[31mx+… \(\d+ more characters\)"/)
})
