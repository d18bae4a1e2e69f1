import t from 'tap'
import { createMask } from '../../src/mask/mask.js'
import { randomToken, SECRET, SECRET_TEXTS, TOKEN_FORMATS, TOKENS } from './planted.js'

const mask = createMask()
t.test('random tokens of issuers are masked bare in a message', async t => {
  for (const format of TOKEN_FORMATS) {
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
  for (const text of SECRET_TEXTS) {
    const shown = mask.text(text)
    t.notOk(shown.includes(SECRET), `${text} → ${shown}`)
    t.match(shown, /\*{6}/)
  }
})

t.test('the same in a URL, in a form, in JSON and in data', async t => {
  for (const text of SECRET_TEXTS.filter(text => /^[^\s"{]+=/.test(text))) {
    t.notOk(mask.url(`/x?${text}`).includes(SECRET), `URL: ${mask.url(`/x?${text}`)}`)
    const query = Object.fromEntries(new URLSearchParams(text))
    t.notOk(JSON.stringify(mask.value(query)).includes(SECRET), `query: ${JSON.stringify(mask.value(query))}`)
  }
  for (const text of SECRET_TEXTS.filter(text => /^\[?\{"|^\["/.test(text))) {
    t.notOk(JSON.stringify(mask.value(JSON.parse(text))).includes(SECRET), `data: ${JSON.stringify(mask.value(JSON.parse(text)))}`)
    t.notOk(mask.text(`Failed: ${JSON.stringify({ body: text })}`).includes(SECRET), `escaped: ${mask.text(`Failed: ${JSON.stringify({ body: text })}`)}`)
  }
})

t.test('tokens of issuers are masked at every place', async t => {
  for (const token of TOKENS) {
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
  t.same(mask.value({ sessions: { a1b2c3: { user: 'ada' }, [SECRET]: 1 }, tokens: new Map([[SECRET, 'x'], ['access', 'y']]), sess: { id: SECRET } }), {
    sessions: { '****** (1)': { user: '******' }, '****** (2)': '******' }, tokens: { '****** (1)': '******', access: '******' }, sess: { id: '******' }
  })
})

t.test('what is masked keeps its form', async t => {
  for (const [text, shown] of [
    [`next=%2Freset%3Ftoken%3D${SECRET}`, 'next=******'],
    [`to %2Freset%3Ftoken%3D${SECRET} ok`, 'to ****** ok'],
    [`id,password,n\n1,${SECRET},2\n"a,b",${SECRET},3\n\nx,y,z`, 'id,password,n\n1,******,2\n"a,b",******,3\n\nx,y,z'],
    [`login failed: password: ${SECRET}, user: ada`, 'login failed: password: ******, user: ada']
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
