import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createMask } from '../../src/mask/mask.js'

const mask = createMask()
const S = 'Zq7kV2m9Xw4t'
const twice = (text: string): string => encodeURIComponent(encodeURIComponent(text))
const letters = (count: number): string => 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA'.repeat(8).slice(0, count)
const hex = (count: number): string => '0f1e2d3c4b5a69788796a5b4c3d2e1f0'.repeat(8).slice(0, count)

/** Texts of which no part of `S` may be shown. */
const secretTexts = [
  `next=${twice(`/reset?token=${S}`)}`,
  `GET /x?data=${twice(`{"password":"${S}"}`)}`,
  `next=${encodeURIComponent(twice(`/reset?token=${S}`))}`,
  `redirect to %2Freset%3Ftoken%3D${S} was refused`,
  `{"next":"%2Freset%3Ftoken%3D${S}"}`,
  `body %7B%22apiKey%22%3A%22${S}%22%7D`,
  `<login><password>${S}</password></login>`,
  `{"tokens":["a","${S}"],"sess":{"id":"${S}"}}`,
  `sess: { id: '${S}' }`,
  `Authentication-Info: nextnonce="${S}", qop=auth`,
  `Proxy-Authentication-Info: rspauth="${S}"`,
  `id,name,password\n1,ada,${S}\n2,"Doe, J","${S}"`,
  `id;passwort\r\n1;${S}\r\n2;${S}`,
  `name\ttoken\tn\nada\t${S}\t1`,
  `the API key: ${S}`,
  `palavra_passe=${S}`, `"palavraPasse": "${S}"`, `palavra-chave: ${S}`, `mot_de_passe=${S}`, `motDePasse: "${S}"`, `contraseña: ${S}`, `contrasenya=${S}`,
  `wachtwoord: ${S}`, `hasło=${S}`, `heslo: ${S}`, `jelszó=${S}`, `lösenord: ${S}`, `lozinka=${S}`, `geslo=${S}`, `slaptažodis: ${S}`, `fjalëkalimi=${S}`,
  `lykilorð: ${S}`, `пароль=${S}`, `лозинка: ${S}`, `密码=${S}`, `パスワード: ${S}`, `비밀번호=${S}`, `पासवर्ड: ${S}`, `รหัสผ่าน=${S}`, `mật_khẩu=${S}`, `kata_sandi=${S}`,
  `şifre: ${S}`,
  `Duplicate entry '${S}' for key 'users.token'`, `密码：${S}`,
  `segment 1 is "a", not "bot123456789:AA${S}${letters(24)}"`, `bot123456789%3AAA${S}${letters(24)}`
]

/** Tokens of issuers, wherever they are. */
const tokens = [
  `dp.pt.${letters(40)}`, `dp.st.dev.${letters(40)}`, `sq0atp-${letters(22)}`, `sq0csp-${letters(43)}`, `access_token$production$${hex(16)}$${hex(32)}`,
  `${letters(14)}.atlasv1.${letters(60)}`, `pul-${hex(40)}`, `NRAK-${letters(27).toUpperCase()}`, `NRJS-${hex(19)}`, `pat${letters(14)}.${hex(64)}`,
  `AGE-SECRET-KEY-1${'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'.repeat(2).slice(0, 58)}`, `EZAK${letters(54)}`, `EZTK${letters(54)}`,
  'pat-na1-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0', 'pat-eu1-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0', `xkeysib-${hex(64)}-${letters(16)}`, `shpat_${hex(32)}`,
  `hf_${'aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJ'}`, `r8_${letters(
    37
  )}`, `gsk_${letters(52)}`, `pplx-${letters(48)}`, `${hex(32)}-us12`, `dt0c01.${letters(24).toUpperCase()}.${letters(64).toUpperCase()}`,
  'HRKU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0', `CFPAT-${letters(
    43
  )}`, `FLWSECK_TEST-${hex(32)}-X`, 'access-sandbox-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0', `fio-u-${letters(64)}`,
  `LTAI${letters(20)}`, `AKID${letters(32)}`, `1//0${letters(60)}`, 'amzn.mws.0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0', 'sdk-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0',
  `cio${letters(32)}`, `nsec1${'qpzry9x8gf2tvdw0s3jn54khce6mua7l'.repeat(2).slice(
    0, 58
  )}`, `rubygems_${hex(48)}`, `rzp_live_${letters(14)}`, `glsa_${letters(32)}_${hex(8)}`, `sntrys_${letters(60)}`,
  `sk-ant-api03-${letters(
    60
  )}`, `lin_api_${letters(40)}`, `dop_v1_${hex(64)}`, `PMAK-${hex(24)}-${hex(34)}`, `snyk_uat.${hex(8)}.${letters(40)}`, `v1.0-${hex(24)}-${hex(146)}`
]

const CHARACTERS: Record<string, string> = {
  a: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  u: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
  b: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  U: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  l: 'abcdefghijklmnopqrstuvwxyz0123456789',
  h: '0123456789abcdef',
  d: '0123456789'
}

/** A token of a format such as `ghp_{a36}`: 36 letters and digits after the prefix. */
function randomToken (format: string): string {
  return format.replace(/\{(\w)(\d+)\}/g, (_all, kind: string, count: string) => {
    const characters = CHARACTERS[kind] as string
    return Array.from({ length: Number(count) }, () => characters[randomInt(characters.length)]).join('')
  })
}

t.test('random tokens of issuers are masked bare in a message', async t => {
  for (const format of readFileSync(new URL('issuer-tokens.txt', import.meta.url), 'utf8').trim().split('\n')) {
    const tokens = Array.from({ length: 200 }, () => randomToken(format))
    t.same(tokens.filter((token) => mask.text(`the call with ${token} failed`) !== 'the call with ****** failed'), [], format)
  }
})

/** Texts that are shown as they are. */
const plainTexts = [
  'open /etc/passwd:12', 'at /etc/passwd:12:3', 'seed=linen', 'seed: cotton', 'secretary: Bob', 'The secretary: Ann', 'sessions: 17', 'sessions=17 open',
  'error code 0x80070005', 'error code: 0x80070005', 'code=0x80070005', 'state=open&code=DE', 'expires_in=3600',
  'session expires_in=3600', 'id,name,size\n1,ada,12', 'user, token\nada, x',
  'curl -u https://a.test/x',
  'curl --user-agent=Mozilla:5 https://a.test', '{pass: 3, fail: 0}', '{"pass":3,"fail":0}', 'pass: 12, fail: 1', 'passRate: 0.97', 'passRate=97',
  'userSessionDuration: 312', 'sessionDuration=4.2',
  'authorizationUrl: https://a.test/authorize', '"tokenUrl": "https://a.test/token"', '["token","id"]', 'fields: ["token","name"]',
  'select: [\'password\', \'email\']', 'passwordless: magic-link', 'secretlint: v9',
  'tokens: 512', 'max_tokens=512', 'cookies: 4', 'sessionStorage: full',
  'tokenType: Bearer', 'tokenCount: 9', 'passing: 12 tests', 'bypass: on', 'compass: north', 'keyboard: de', 'primary_key: id', 'cache_key=user:12',
  'signatureAlgorithm: RS256', 'cookiePolicy: strict',
  'secretariat: Room 12', 'tokenizer: gpt2', 'author: Ada', 'authMethod: basic', 'passRatio=0.5', 'successRate: 3', '5 sessions are open', 'no session',
  'the token has expired', 'password must have 8 characters',
  'Invalid token: expected a number', 'a page about cookies: how they work', 'name=size&value=12', '[{"name":"size","value":"12"}]',
  '{"path":["name"],"message":"Required","input":"x"}', 'h[0][name]=q&h[0][value]=shoes',
  "Duplicate entry 'ada' for key 'users.name'", 'SESSION_TTL_SECONDS=60', 'sessionTimeoutMs: 3000', 'cookieDomain: a.test', 'tokenIssuer: a.test',
  'authMode: jwt', 'credentials: include',
  'discount 20%3A off', '/a%2Fb?c=%3D1', 'robot:12345678', 'pat-a-cake', 'sdk-version-12', 'access-control-allow-origin: *', 'r8_short', 'v1.0-beta',
  'https://a.test/tokens/list'
]

t.test('secrets in texts are masked', async t => {
  for (const text of secretTexts) {
    const shown = mask.text(text)
    t.notOk(shown.includes(S), `${text} → ${shown}`)
    t.match(shown, /\*{6}/)
  }
})

t.test('the same in a URL, in a form, in JSON and in data', async t => {
  for (const text of secretTexts.filter(text => /^[^\s"{]+=/.test(text))) {
    t.notOk(mask.url(`/x?${text}`).includes(S), `URL: ${mask.url(`/x?${text}`)}`)
    const query = Object.fromEntries(new URLSearchParams(text))
    t.notOk(JSON.stringify(mask.value(query)).includes(S), `query: ${JSON.stringify(mask.value(query))}`)
  }
  for (const text of secretTexts.filter(text => /^\[?\{"|^\["/.test(text))) {
    t.notOk(JSON.stringify(mask.value(JSON.parse(text))).includes(S), `data: ${JSON.stringify(mask.value(JSON.parse(text)))}`)
    t.notOk(mask.text(`Failed: ${JSON.stringify({ body: text })}`).includes(S), `escaped: ${mask.text(`Failed: ${JSON.stringify({ body: text })}`)}`)
  }
})

t.test('tokens of issuers are masked at every place', async t => {
  for (const token of tokens) {
    for (const around of [`got ${token}, then`, `"${token}"`, `id=${token}&a=b`, `{"x":"${token}"}`]) {
      t.notOk(mask.text(around).includes(token.slice(-12)), mask.text(around))
    }
    t.notOk(
      mask.url(`/x/${encodeURIComponent(token)}/y?q=${encodeURIComponent(token)}`).includes(token.slice(-8)),
      mask.url(`/x/${encodeURIComponent(token)}/y?q=${token}`)
    )
    t.equal(mask.value(token), '******')
  }
})

t.test('ordinary texts stay as they are', async t => {
  for (const text of plainTexts) {
    t.equal(mask.text(text), text)
    if (/^\[?\{"|^\["/.test(text)) t.same(mask.value(JSON.parse(text)), JSON.parse(text))
  }
})

t.test('ordinary data stay as they are', async t => {
  for (const value of [
    { pass: 3, fail: 0 }, { sessions: 17 }, { passRate: 0.97 }, { userSessionDuration: 312 }, { authorizationUrl: 'https://a.test/authorize' },
    ['token', 'id'], { fields: ['token', 'name'] },
    { select: ['password', 'email'] }, { secretary: 'Bob' }, { seed: 'linen' }, { seed: 42 }, { tokens: 512 }, { cookies: 2 },
    { required: ['token', 'userId'] }, { passes: 12 }, { tokenUrl: '/token' },
    [{ name: 'size', value: 'L' }], { path: ['name'], input: 'x' }, { sessionStorage: 'full' },
    { passwordless: 'magic-link' }, { sort: ['token', 'asc'] }, { credentials: 'same-origin' }, { authMode: 'jwt' }
  ]) t.same(mask.value(value), value, JSON.stringify(value))
  t.same(mask.value({ session: 'abc', pass: 'abc', passwords: ['a'], seed: 'a b c', sessions: ['x1'] }),
    { session: '******', pass: '******', passwords: ['******'], seed: '******', sessions: ['******'] })
  t.same(mask.value(['token', 'swordfish', 'password', 'hunter2']), ['token', '******', 'password', '******'])
})

t.test('names below sessions and tokens are masked, too', async t => {
  t.same(mask.value({ sessions: { a1b2c3: { user: 'ada' }, [S]: 1 }, tokens: new Map([[S, 'x'], ['access', 'y']]), sess: { id: S } }), {
    sessions: { '****** (1)': { user: '******' }, '****** (2)': '******' }, tokens: { '****** (1)': '******', access: '******' }, sess: { id: '******' }
  })
})

t.test('what is masked keeps its form', async t => {
  for (const [text, shown] of [
    [`next=%2Freset%3Ftoken%3D${S}`, 'next=******'],
    [`to %2Freset%3Ftoken%3D${S} ok`, 'to ****** ok'],
    [`id,password,n\n1,${S},2\n"a,b",${S},3\n\nx,y,z`, 'id,password,n\n1,******,2\n"a,b",******,3\n\nx,y,z'],
    [`login failed: password: ${S}, user: ada`, 'login failed: password: ******, user: ada']
  ] as const) t.equal(mask.text(text), shown)
  t.same(
    mask.value({ path: ['pin'], received: 1, message: 'Expected string' }),
    { path: ['pin'], received: '******', message: 'Expected string' }
  )
})

t.test('members with the names of inherited functions are data', async t => {
  const odd = JSON.parse(
    '{"toString":"x","valueOf":1,"__proto__":{"password":"x"},"password":{"toString":"x"},"list":["a",{"toString":"x"}],"token":null}'
  ) as object
  t.equal(JSON.stringify(mask.value(odd)),
    '{"toString":"x","valueOf":1,"__proto__":{"password":"******"},"password":{"toString":"******"},"list":["a",{"toString":"x"}],"token":null}')
})
