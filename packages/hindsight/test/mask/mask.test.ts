import t from 'tap'
import { flattenError, maskExceptions } from '../../src/errors/masked-exceptions.js'
import { createMask } from '../../src/mask/mask.js'
import { copyOfParameters } from '../../src/parts/queries/trace.js'
import { cutBeforeWord } from '../../src/view/text.js'
import { Account, HIDDEN, PLANTED } from './planted.js'

const mask = createMask()

t.test('a masked header keeps its scheme and loses its credentials', async t => {
  for (const [name, value, expected] of [
    ['Authorization', 'Basic dXNlcjpwYXNz', 'Basic ******'],
    ['authorization', 'Bearer abc.def', 'Bearer ******'],
    ['authorization', 'Digest username="a", response="b"', 'Digest ******'],
    ['authorization', 'opaque', '******'],
    ['Proxy-Authorization', 'Basic eA==', 'Basic ******'],
    ['cookie', 'a=1; b=2=3;c', 'a=******; b=******; ******'],
    ['Set-Cookie', 'sid=abc; Path=/; HttpOnly', 'sid=******; Path=/; HttpOnly'],
    ['set-cookie', 'odd; Path=/', '******; Path=/'],
    ['X-Api-Key', 'k', '******'],
    ['x-auth-token', 'k', '******'],
    ['x-csrf-token', 'k', '******'],
    ['x-amz-security-token', 'k', '******'],
    ['x-debug-token', '3fa94c', '3fa94c'],
    ['x-debug-token', '4111111111111111', '******'],
    ['x-debug-token-link', 'https://a.test/4111111111111111', 'https://a.test/******'],
    ['x-debug-token-secret', 'abcdef', '******'],
    ['X-Debug-Token-Link', 'http://127.0.0.1/_profiler/3fa94c', 'http://127.0.0.1/_profiler/3fa94c'],
    ['www-authenticate', 'Bearer realm="app", error="invalid_token"', 'Bearer realm="app", error="invalid_token"'],
    ['referer', 'https://a.test/reset?token=s3cret x', 'https://a.test/reset?token=******'],
    ['accept', 'text/html', 'text/html'],
    ['x-upstream', 'Bearer abc123', 'Bearer ******']
  ] as const) t.equal(mask.header(name, value), expected, `${name}: ${value}`)
})

t.test('headers are masked one by one, also lists and numbers', async t => {
  t.same(mask.headers({ 'set-cookie': ['a=1; Path=/', 'b=2'], 'content-length': 3, gone: undefined, authorization: 'Basic eA==' }),
    { 'set-cookie': ['a=******; Path=/', 'b=******'], 'content-length': '3', authorization: 'Basic ******' })
})

t.test('a masked URL differs only in its secrets', async t => {
  for (const [url, expected] of [
    ['/a?b=1&c', '/a?b=1&c'],
    ['/a?eyJhbGciOi.eyJzdWIi.c2ln&b#eyJhbGciOi.eyJzdWIi.c2ln', '/a?******&b#******'],
    ['/a?eyJhbGciOi.eyJzdWIi.c2ln=&b=1', '/a?******=&b=1'],
    ['/a?password=x&b=%20&b=2', '/a?password=******&b=%20&b=2'],
    ['/a?pass%77ord=x', '/a?pass%77ord=******'],
    ['/a?user[password]=x&api-key=y&apikey=z&_hash=q', '/a?user[password]=******&api-key=******&apikey=******&_hash=******'],
    ['/a?access_token=x#id_token=y&state=1', '/a?access_token=******#id_token=******&state=1'],
    ['/a?next=%2Freset%3Ftoken%3Dabc', '/a?next=%2Freset%3Ftoken%3D******'],
    ['/_fragment?_hash=abc&_path=x', '/_fragment?_hash=******&_path=x'],
    ['https://user:pa@ss@host:80/p?q=1', 'https://user:******@host:80/p?q=1'],
    ['https://user@host/p', 'https://user@host/p'],
    ['http://host:80/@x', 'http://host:80/@x'],
    ['/%E0%A4%A?%E0=1&%E0token=2&x=%', '/%E0%A4%A?%E0=1&%E0token=******&x=%'],
    ['', ''],
    ['?', '?'],
    ['/a\n?token=x\ny', '/a\n?token=******']
  ] as const) t.equal(mask.url(url), expected, url)
})

const secretNames = [
  'user[pass]', 'user[otp]', 'pass[]', 'auth[0]', 'a[b][sig][c]', 'user_otp', 'userOtp', 'user-otp', 'user.otp', 'x-otp', 'USER_OTP', 'userOTP', 'OTPCode',
  'otpCode', 'otp2',
  'userAuth', 'auth_code', 'smtpPass', 'SMTP_PASS_2', 'card_pin', 'cardPin', 'pin', 'bearer', 'urlSig', 'sid', 'my_jwt', 'dbpass', 'PGPASS', 'user[dbpass]',
  'user[cookie]', 'user[set-cookie]', 'x-hindsight-profile', '_profile'
]
const plainNames = [
  'author', 'authority', 'passenger', 'passing', 'compass', 'bypass', 'bypassed', 'signal', 'design', 'option', 'adoption', 'keyboard', 'pinned', 'Pinned',
  'spin', 'shopping', 'ping', 'side', 'inside', 'insideOut', 'sidebar',
  'key', 'keys', 'monkey', 'optional', 'co-author', 'userAuthor', 'PASSENGER', 'user[author]', 'list[0]', '[]', '[', 'bearers', 'PINNED', 'www-authenticate',
  'x-debug-token', 'x-debug-token-link', 'profile', 'access-control-allow-credentials'
]

t.test('names are matched by their words and by their parts in brackets, at any place', async t => {
  for (const [names, shown] of [[secretNames, '******'], [plainNames, 'X1']] as const) {
    for (const name of names) {
      t.equal(mask.hides(name), shown !== 'X1', name)
      t.same(mask.value({ [name]: 'X1' }), { [name]: shown }, `a field ${name}`)
      t.equal(mask.url(`/?a=b&${name}=X1#${name}=X1`), `/?a=b&${name}=${shown}#${name}=${shown}`, `a parameter ${name}`)
      if (!name.startsWith('x-debug')) t.equal(mask.text(`sent ${name}=X1, then`), `sent ${name}=${shown}, then`, `prose ${name}`)
      const encoded = encodeURIComponent(name)
      t.equal(mask.url(`/?${encoded}=X1`), `/?${encoded}=${shown}`, `a parameter ${encoded}`)
      t.equal(mask.text(`${encoded}=X1&c=d`), `${encoded}=${shown}&c=d`, `a form ${encoded}`)
    }
  }
  for (const [text, expected] of [
    ['user[otp]=X&user%5Bpass%5D=X&pass[]=X&n=1', 'user[otp]=******&user%5Bpass%5D=******&pass[]=******&n=1'],
    ['config["pass"] = "hunter2"', 'config["pass"] = "******"'],
    ["config['author'] = 'me'", "config['author'] = 'me'"],
    ['at 100% password=x', 'at 100% password=******']
  ] as const) t.equal(mask.text(text), expected, text)
})

t.test('text loses credentials and keeps its words', async t => {
  for (const [text, expected] of [
    ['connect redis://user:p@ss@host:6379/0 failed', 'connect redis://user:******@host:6379/0 failed'],
    ['redis://:secret1@h', 'redis://:******@h'],
    ['postgres://admin@server:hunter2@server.test:5432/db', 'postgres://admin@server:******@server.test:5432/db'],
    ['smtp://me@a.test:hunter2@h:25 failed', 'smtp://me@a.test:******@h:25 failed'],
    ['postgres://u:pa/ss@h/db', 'postgres://u:******@h/db'],
    ['sent Bearer abc.def-1', 'sent Bearer ******'],
    ['Bearer token is missing', 'Bearer token is missing'],
    [`sent Basic ${Buffer.from('me:pw').toString('base64')}`, 'sent Basic ******'],
    ['Basic authentication failed', 'Basic authentication failed'],
    ['login {"password":"a\\"b","user":"c"}', 'login {"password":"******","user":"c"}'],
    ["{ password: 'x', user: 'c' }", "{ password: '******', user: 'c' }"],
    ['password=hunter2, user=bob', 'password=******, user=bob'],
    ['password: hunter2', 'password: ******'],
    ['Invalid token: expected a number', 'Invalid token: expected a number'],
    ['Token "3fa94c" was not found.', 'Token "3fa94c" was not found.'],
    ['GET /reset?token=abc HTTP/1.1', 'GET /reset?token=****** HTTP/1.1'],
    ['jwt eyJhbGciOi.eyJzdWIi.c2ln end', 'jwt ****** end'],
    ['Error: token=abc', 'Error: token=******'],
    ['Error: password=abc', 'Error: password=******'],
    ['user login failed: password=abc', 'user login failed: password=******'],
    ['Uncaught Error: "conn failed password=abc123"', 'Uncaught Error: "conn failed password=******"'],
    ['Uncaught Error: "password: hunter" at /a/token.ts:12', 'Uncaught Error: "password: ******" at /a/token.ts:12'],
    ['msg: "x token=abc"', 'msg: "x token=******"'],
    ['a: b: c=d: token=abc', 'a: b: c=d: token=******'],
    ['msg: { password: "x y", list: [{ token: abc1 }] }', 'msg: { password: "******", list: [{ token: ****** }] }'],
    ['{"msg":"{\\"password\\":\\"abc def\\"}"}', '{"msg":"{\\"password\\":\\"******\\"}"}'],
    ['cut off {"password":"abc de', 'cut off {"password":"******'],
    ['secret=/abc+/=', 'secret=******'],
    ['password: hunter', 'password: ******'],
    ['(password: hunter)', '(password: ******)'],
    ['password: hunter user: bob', 'password: ****** user: bob'],
    ['Unexpected token: }', 'Unexpected token: }'],
    ['Cookie: sid=abc', 'Cookie: sid=******'],
    ['Error: Cookie: sid=abc; theme=dark', 'Error: Cookie: sid=******; theme=******'],
    ['sent Cookie: sid=abc; theme=dark and failed', 'sent Cookie: sid=******; theme=******'],
    ['"Cookie: sid=abc; b" was sent', '"Cookie: sid=******; ******" was sent'],
    ['GET / HTTP/1.1\r\nSet-Cookie: sid=abc; Path=/\r\nAccept: x', 'GET / HTTP/1.1\r\nSet-Cookie: sid=******; Path=/\r\nAccept: x'],
    ['x-api-key: abcdef', 'x-api-key: ******'],
    ['> Authorization: Token abc', '> Authorization: Token ******'],
    ['    at handle (/app/plugins/session-login.ts:12:3)', '    at handle (/app/plugins/session-login.ts:12:3)'],
    ['GET http://token.example:3000/x', 'GET http://token.example:3000/x'],
    ['No route found for "GET http://127.0.0.1:3000/x"', 'No route found for "GET http://127.0.0.1:3000/x"']
  ] as const) t.equal(mask.text(text), expected, text)
})

t.test('a value is masked at any depth and becomes plain JSON', async t => {
  const cyclic: Record<string, unknown> = { a: [{ b: { Password: 'x', dbPassword: 1, note: 'redis://a:b@c' } }] }
  cyclic.self = cyclic
  t.same(mask.value(cyclic), { a: [{ b: { Password: '******', dbPassword: '******', note: 'redis://a:******@c' } }], self: '[circular]' })
  for (const [name, value, expected] of [
    ['everything under a secret name', { credentials: { user: 'u', list: [1, null] } }, { credentials: { user: '******', list: ['******', null] } }],
    [
      'pairs of name and value', [{ name: 'password', value: 'x' }, { name: 'a', value: 'b' }],
      [{ name: 'password', value: '******' }, { name: 'a', value: 'b' }]
    ],
    [
      'odd primitives', { a: 1n, b: NaN, c: undefined, d: Symbol('s'), e: function f () {}, g: null },
      { a: '1', b: 'NaN', d: 'Symbol(s)', e: '[function f]', g: null }
    ],
    ['binary', Buffer.from('abc'), '[binary, 3 bytes]'],
    ['dates', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['maps and sets', new Map<string, unknown>([['token', 'x'], ['s', new Set([1])]]), { token: '******', s: [1] }],
    ['errors', Object.assign(new Error('m'), { code: 'E' }), { name: 'Error', message: 'm', code: 'E' }],
    ['a getter', { get a () { throw new Error('no') } }, { a: '[getter]' }],
    ['a proxy', [new Proxy({}, { ownKeys () { throw new Error('no') } })], ['[proxy]']],
    ['a toJSON that throws', { toJSON () { throw new Error('password=no') } }, '[unreadable: password=******]'],
    ['a map by objects', new Map([[{ toString () { throw new Error('no') } }, 1]]), { '[object]': 1 }],
    ['a name that is a trap', JSON.parse('{"__proto__":{"password":"x"}}'), JSON.parse('{"__proto__":{"password":"******"}}')],
    ['nothing', undefined, null]
  ] as const) {
    t.equal(JSON.stringify(mask.value(value)), JSON.stringify(expected), name)
  }
})

t.test('a value is bounded in depth and size', async t => {
  let deep: unknown = 'x'
  for (let i = 0; i < 100; i++) deep = [deep]
  t.match(JSON.stringify(mask.value(deep)), /^\[{12}"\[too deep\]"\]{12}$/)
  t.equal((mask.value(Array.from({ length: 20_000 }, () => 1)) as unknown[]).length, 5_000)
})

t.test('omitted parts of a value are noted', async t => {
  t.equal((mask.value(Array.from({ length: 20_000 }, () => 1)) as unknown[]).at(-1), '… (15,001 more items)')
  t.equal((mask.value(Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`n${i}`, 1]))) as Record<string, unknown>)['…'], '1,001 more fields')
  t.equal(mask.value('é'.repeat(10_000)), `${'é'.repeat(9_000)}… (2,000 more bytes)`)
  t.equal(mask.value(`postgres://user:s3cret${'x'.repeat(9_000)}@host`), 'postgres://user:******@host', 'masked before it is truncated')
})

t.test('a secret is not shown where a text is truncated', async (t) => {
  const secret = `ghp_${'a1'.repeat(18)}`
  for (let at = 60; at <= 100; at++) {
    const text = `${'word '.repeat(30).slice(0, at - 1)} ${secret} ${'x'.repeat(10)}`
    const error = Object.assign(new Error('x'.repeat(19_900) + text), { detail: 'y'.repeat(1_900) + text })
    for (const [how, shown] of [
      ['cut', mask.cut(text, 100)],
      ['cut, long', mask.cut(text + ' z'.repeat(5_000), 100)],
      ['value', mask.value({ text }, 100)],
      ['text', mask.text(cutBeforeWord(text, 100))],
      ['error', maskExceptions(flattenError(error), mask).map(({ message, stack, fields }) => [message, stack, fields])],
      ['parameters', mask.value(copyOfParameters(['z'.repeat(1_900) + text]))]
    ] as const) {
      if (/ghp_|a1a1/.test(JSON.stringify(shown))) t.fail(`${how}, at ${at}: ${JSON.stringify(shown)}`)
    }
  }
  t.equal(mask.cut('abcdef', 4), 'abcd… (2 more characters)')
  t.equal(mask.cut('a'.repeat(10_000), 4), 'aaaa… (9,996 more characters)')
  t.equal(mask.cut(secret, 6), '******')
  t.equal(cutBeforeWord('one two three', 9), 'one two … (5 more characters)')
})

t.test('secrets are found by their form, under any name', async t => {
  for (const [text, expected] of [
    ['key AKIAABCDEFGHIJKLMNOP end', 'key ****** end'],
    [`use ghp_${'a1'.repeat(18)}, please`, 'use ******, please'],
    [`sk_live_${'a1'.repeat(10)}`, '******'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend', '-----BEGIN RSA PRIVATE KEY-----******\nend'],
    ['jwt eyJhbGciOi.eyJzdWIi… (3 more bytes)', 'jwt ******… (3 more bytes)'],
    ['https://abcdef0123456789abcdef@sentry.test/1', 'https://******@sentry.test/1'],
    ['https://mytoken:x-oauth-basic@host/', 'https://******:******@host/'],
    ['https://sk:@host/', 'https://******:******@host/'],
    ['redis://user:pa$$', 'redis://user:******'],
    ['http://host:8080', 'http://host:8080'],
    ['http://[::1]:80/x', 'http://[::1]:80/x'],
    ['https://github.com/some/path@v1', 'https://github.com/some/path@v1'],
    ['<login><user>ada</user><password type="plain">s3cret</password></login>', '<login><user>ada</user><password type="plain">******</password></login>'],
    ['$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA', '******']
  ] as const) t.equal(mask.text(text), expected, text)
})

t.test('lists of names and values in turn, and arguments of commands', async t => {
  for (const [value, expected] of [
    [['Cookie', 'sid=1', 'Host', 'a'], ['Cookie', '******', 'Host', 'a']],
    [[['authorization', 'x'], ['accept', 'y']], [['authorization', '******'], ['accept', 'y']]],
    [['node', '--password', 'x'], ['node', '--password', '******']],
    [{ header: 'X-Api-Key', value: 'x' }, { header: 'X-Api-Key', value: '******' }],
    // Errors of Drizzle, TypeORM, Sequelize, Knex and ioredis.
    ...(['params', 'parameters', 'bindings', 'values'] as const).map((name) => [
      { query: 'select * from users where api_token = $1', [name]: ['x', 7, null], code: 'E1' },
      { query: 'select * from users where api_token = $1', [name]: ['******', '******', null], code: 'E1' }
    ]),
    [{ sql: 'insert into item (id) values ($1)', parameters: [7, 'x'] }, { sql: 'insert into item (id) values ($1)', parameters: [7, 'x'] }],
    [{ sql: 'update a set pin = :pin', parameters: { id: 1 } }, { sql: 'update a set pin = :pin', parameters: { id: '******' } }],
    [{ command: { name: 'auth', args: ['ann', 'x'] } }, { command: { name: 'auth', args: ['******', '******'] } }],
    [{ command: { name: 'set', args: ['session:7', 'x'] } }, { command: { name: 'set', args: ['******', '******'] } }],
    [{ command: { name: 'set', args: ['item:7', 'x'] } }, { command: { name: 'set', args: ['item:7', 'x'] } }],
    [
      Object.assign(new Error('m', { cause: { password: 'x' } }), { config: { headers: { Authorization: 'x' } } }),
      { name: 'Error', message: 'm', cause: { password: '******' }, config: { headers: { Authorization: '******' } } }
    ]
  ]) t.same(mask.value(value), expected)
})

t.test('a text of many megabytes exceeds no stack', async t => {
  const long = 'x'.repeat(12_000_000)
  for (const start of ['password=', '-----BEGIN PRIVATE KEY-----', "IDENTIFIED BY '"]) {
    t.equal(mask.text(start + long).slice(0, start.length + 6).replace("'", ''), `${start.replace("'", '')}******`, start)
  }
  t.match(mask.text('a '.repeat(600_000)), /… \(200,000 more characters\)$/, 'a longer text is truncated')
})

t.test('a message is masked line by line, even if it is malformed', async t => {
  const raw = (eol: string) => ['GET /x?token=S1&a=b HTTP/1.1', 'Host: localhost', 'Cookie: theme=S2; sid=S3', 'X-Api-Key: S4', ' S5',
    'Authorization: Token S6',
    'X-Auth-Token : S7', 'Referer: /a?token=S8', 'Cookie sid=S9: x', 'Cook\u0000ie: sid=SA', 'Bad Header: c', 'nocolon', '', 'password=SB&a=b'].join(eol)
  for (const eol of ['\r\n', '\n']) {
    t.same(mask.message(raw(eol)).split(
      eol
    ), ['GET /x?token=******&a=b HTTP/1.1', 'Host: localhost', 'Cookie: theme=******; sid=******', 'X-Api-Key: ******', ' ******',
      'Authorization: Token ******', 'X-Auth-Token : ******', 'Referer: /a?token=******', 'Cookie sid=******', 'Cook\u0000ie: sid=******', 'Bad Header: c',
      'nocolon', '', 'password=******&a=b'])
  }
  t.equal(mask.message(''), '')
  t.notMatch(mask.message('GET / HTTP/1.1\rCookie: sid=S1\rX-Api-Key: S2\r\n'), /S[12]/)
  t.equal(mask.message('GARBAGE'), 'GARBAGE')
})

t.test('secret path parameters are masked in any text', async t => {
  const own = mask.withParams({ token: 'Sé/cret', id: '7', pass: 'ab', empty: null })
  t.equal(own.url('http://ab/reset/S%C3%A9%2fcret/7?a=b'), 'http://ab/reset/******/7?a=b')
  t.equal(own.url('/reset/S\u00e9%2F%63ret'), '/reset/******')
  t.equal(own.url('/ab/absolute/ab'), '/******/absolute/******')
  t.equal(own.text('GET "/x/ab", for "Sé/cret" about'), 'GET "/x/******", for "******" about')
  t.same(own.value({ url: '/x/S%c3%a9%2Fcret' }), { url: '/x/******' })
  t.equal(own.header('referer', 'http://a/x/ab'), 'http://a/x/******')
  t.equal(own.url('/next?to=%252Fx%252FS%25C3%25A9%252Fcret'), '/next?to=******')
  const signs = mask.withParams({ token: 'a&b "c"<d>' })
  for (const text of [
    'a&b "c"<d>', 'a&amp;b &quot;c&quot;&lt;d&gt;', 'a&#38;b &#34;c&#x22;&#60;d&#62;', 'a%26b+%22c%22%3Cd%3E', 'a\\u0026b \\"c\\"\\u003cd>'
  ]) {
    t.equal(signs.text(`sent ${text}, ok`), 'sent ******, ok', text)
  }
  t.equal(mask.withParams({ code: 'a1b2c3d4' }).url('/verify/a1b2c3d4'), '/verify/******')
  t.equal(mask.withParams({ pin: 123456 }).text('pin 123456 of /verify/123456'), 'pin ****** of /verify/******')
  t.equal(mask.withParams({ pin: '12' }).text('/12-7/a.12?b=12 12 /129 //12/x'), '/******-7/a.******?b=12 12 /129 //12/x')
  t.equal(mask.withParams({ code: 'ENOENT' }), mask)
  t.equal(mask.withParams({ id: 'abcdef' }), mask)
  t.equal(mask.withParams(undefined), mask)
})

t.test('patterns of the application are added to the built-in names', async t => {
  const own = createMask(['X-Mine', /spin/gi])
  t.equal(own.header('x-mine', 'v'), '******')
  t.same(own.value({ spin: 1, Spins: 2, token: 3, other: 4 }), { spin: '******', Spins: '******', token: '******', other: 4 })
})

t.test('secrets of a content security policy are masked, and its nonces stay', async t => {
  const policy = "script-src 'nonce-abc123'; style-src 'nonce-def456'; report-uri https://u:hunter2secret@csp.example/r?token=abc123SECRETxyz"
  const shown = mask.header('content-security-policy', policy)
  t.match(shown, "script-src 'nonce-abc123'; style-src 'nonce-def456'")
  t.notMatch(shown, /hunter2secret|abc123SECRETxyz/)
  t.equal(createMask(['content-security-policy']).header('Content-Security-Policy', policy), '******')
})

t.test('names of secrets match in every spelling', async t => {
  for (const name of [
    'SAMLResponse', 'assertion', 'code_verifier', 'deviceCode', 'mfa_code', 'TOTP', 'backup-codes', 'mnemonic',
    'walletSeed', 'user_pw',
    'card_cvv', 'cardNumber', 'iban', 'userSSN', 'PHPSESSID', 'JSESSIONID', 'connect.sid', 'hmac', 'sas',
    'SENTRY_DSN', 'connectionString',
    'stripe_key', 'x-functions-key', 'APP_KEY', 'tls.key', 'motDePasse', 'contraseña', 'contrasen\u0303a', 'senha',
    'kennwort', 'wachtwoord',
    'пароль', '密码', 'パスワード'
  ]) {
    t.same(mask.value({ [name]: HIDDEN }), { [name]: '******' }, `a field ${name}`)
    t.equal(mask.text(`sent ${name}=${HIDDEN} to it`), `sent ${name}=****** to it`, `a text with ${name}`)
    t.notMatch(mask.url(`/?${encodeURIComponent(name)}=${HIDDEN}`), HIDDEN, `a parameter ${name}`)
  }
})

t.test('names that only resemble those of secrets', async t => {
  for (const name of [
    'code', 'statusCode', 'primary_key', 'foreignKey', 'cacheKey', 'sort_key', 'monkey', 'key', 'keyboard',
    'Sec-WebSocket-Key', 'idempotency-key',
    'seedling', 'cotton', 'option', 'tokenType', 'token_count', 'passwordLength', 'saltRounds', 'TokenError',
    'ERR_ASSERTION', 'dsnow'
  ]) t.equal(mask.hides(name), false, name)
  const counts = { max_tokens: 512, seed: 42, session: null, credentials: true }
  t.same(mask.value(counts), counts)
  for (const code of ['ENOENT', 'FST_ERR_NOT_FOUND', 'invalid_type', 'P2002', '23505', 404]) {
    t.same(mask.value({ code }), { code }, `code ${code}`)
  }
  t.same(mask.value({ code: 'SplxlOBeZQQYbYW6WxSbIA' }), { code: '******' }, 'an authorization code')
  t.equal(mask.url('/callback?code=swordfish&state=x'), '/callback?code=******&state=x')
})

t.test('secrets are masked in texts of many kinds', async t => {
  for (const [kind, text] of PLANTED) {
    const shown = mask.text(text.replaceAll('#', HIDDEN))
    t.notMatch(shown, HIDDEN, `${kind}: ${shown}`)
    t.match(shown, '******', kind)
  }
})

t.test('secrets are masked in values of many kinds', async t => {
  for (const [kind, value] of [
    ['an error of a validator', { path: ['user', 'password'], input: HIDDEN }],
    ['an instance', new Account()],
    ['a number of a card', { note: '4111 1111 1111 1111', hunter22: 4111111111111111 }]
  ] as const) t.notMatch(JSON.stringify(mask.value(value)), /: ?"hunter22|1111/, kind)
})

// Made at run time: scanners of repositories look for the same shapes.
const random = (length: number): string => 'aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY'.repeat(4).slice(0, length)
const hex = '0a1b2c3d4e5f6789'.repeat(2)

t.test('secrets with the form of an issuer, a hash, a card or a key are masked', async t => {
  for (const secret of [
    `https://hooks.slack.com/services/T01234567/B01234567/${random(24)}`,
    `https://api.telegram.org/bot123456789:AA${random(33)}/getMe`,
    `hvs.${random(24)}`, `shpat_${hex}`, `v4.local.${random(80)}`, `glpat-${random(20)}`, `lin_api_${random(40)}`,
    `xapp-1-A01-1-${hex}`,
    `$scrypt$ln=16,r=8,p=1$${random(22)}$${random(43)}`, `pbkdf2_sha256$260000$${random(22)}$${random(43)}`,
    `scrypt:32768:8:1$${random(16)}$${hex}`,
    `eyJhbGciOiJkaXIifQ..${random(16)}.${random(20)}.${random(22)}`,
    '4111 1111 1111 1111', '378282246310005'
  ]) t.notOk(mask.text(`sent ${secret} to it`).includes(secret.slice(-9)), secret)
  for (const text of [
    'order 4111111111111112', 'at 1732345678901 ms', 'sha256-aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY', `commit ${hex}`,
    'trace 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '/_profiler/<token>/panel'
  ]) t.equal(mask.text(text), text)
  for (const kind of ['RSA PRIVATE KEY', 'PGP PRIVATE KEY BLOCK']) {
    const head = `-----BEGIN ${kind}-----`
    const pem = `${head}\nProc-Type: 4,ENCRYPTED\nVersion: x-y\n\n${random(40)}\n-----END ${kind}-----\nend`
    t.equal(mask.text(pem), `${head}******\nend`)
  }
})

t.test('ordinary prose keeps its words', async t => {
  for (const text of [
    'Unexpected token \'h\', "hello" is not valid JSON', 'password is required', 'the session of ada was stored',
    'code: ENOENT', 'cache key: users:1',
    'jwt expired', 'TokenExpiredError: jwt expired', '`session.secret` | `SESSION_SECRET` | string',
    'the packages `@fastify/cookie`, `@fastify/session`, `x`',
    'Unexpected token in "config.json"', 'the password for admin is required', 'a token in (parentheses)', 'a token like this',
    'Invalid token: expected a number', 'total_tokens: 512', 'mkdir -p /tmp/a', 'docker run -p 8080:80 x',
    'items.map((token) => token.id)', 'docker run -p 3000 app', 'bash: passwd: command not found',
    'Secret "db" not found', 'tokens: []', '\x1b[31mred\x1b[0m'
  ]) t.equal(mask.text(text), text)
})

t.test('placeholders in SQL statements are not masked', async t => {
  for (const value of ['?', '$1', ':name', '%s', '%(password)s', '@p1', 'NULL']) {
    for (const text of [
      `UPDATE users SET password = ${value}, name=${value} WHERE id=1`,
      `UPDATE users SET password=${value},name=${value}`,
      `INSERT INTO users (name, password) VALUES (${value}, ${value}), (${value},${value})`
    ]) t.equal(mask.text(text), text)
  }
  t.equal(mask.text("insert into a (name, password) VALUES (?, 'x')"), "insert into a (name, password) VALUES (?, '******')")
})

t.test('numbers that only resemble those of cards are not masked', async t => {
  for (const text of [
    'EAN 4006381333931', 'at 1732345678901', '4111111111111', '4111111111111111111',
    '12344111111111111111', '9111111111111111', '4111111111111111.5'
  ]) t.equal(mask.text(`sent ${text} to it`), `sent ${text} to it`)
  t.same(mask.value({ note: 4006381333931 }), { note: 4006381333931 })
  for (const text of ['30569309025904', '378282246310005', '3782 822463 10005', '4111-1111-1111-1111']) {
    t.equal(mask.text(`sent ${text} to it`), 'sent ****** to it', text)
  }
})

t.test('big integers and symbols are masked as texts', async t => {
  t.same(mask.value({ card: 4111111111111111n, symbol: Symbol('password=hunter2'), count: 12n }),
    { card: '******', symbol: 'Symbol(password=******)', count: '12' })
})
