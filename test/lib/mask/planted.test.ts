import { inspect } from 'node:util'
import t from 'tap'
import { createMask } from '../../../lib/mask/mask.js'

const mask = createMask()
const SECRET = 'hunter22'

class Account { user = 'ada'; recoveryCode = SECRET }

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
    t.same(mask.value({ [name]: SECRET }), { [name]: '******' }, `a field ${name}`)
    t.equal(mask.text(`sent ${name}=${SECRET} to it`), `sent ${name}=****** to it`, `a text with ${name}`)
    t.notMatch(mask.url(`/?${encodeURIComponent(name)}=${SECRET}`), SECRET, `a parameter ${name}`)
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

// Each holds the secret once or more.
const planted: ReadonlyArray<readonly [kind: string, text: string]> = [
  ['a Map', "Map(1) { 'password' => '#' }"],
  ['a Map, inspected', inspect(new Map([['password', SECRET]]))],
  ['an instance, inspected', inspect(new Account())],
  ['an object, inspected with colors', inspect({ otp: SECRET }, { colors: true })],
  ['a Map, inspected with colors', inspect(new Map([['password', SECRET]]), { colors: true })],
  ['colors in JSON', JSON.stringify({ msg: inspect({ pin: SECRET }, { colors: true }) })],
  ['colors around the name and the sign', '\x1b[36mpin\x1b[0m\x1b[1m=\x1b[0m#'],
  ['a Set under a secret name', "secrets: Set(2) { '#', 'b' }"],
  ['a list under a secret name', "{ tokens: [ 'a', '#' ], user: 'b' }"],
  ['Python, unicode', "{'password': u'#'}"],
  ['Python, bytes', "{b'token': b'#'}"],
  ['Python, a keyword argument', "User(name='ada', password='#')"],
  ['Ruby', '{:password=>"#"}'],
  ['Go', 'map[password:# user:ada]'],
  ['Java', 'User[name=ada, password=Optional[#]]'],
  ['Rust', 'Config { password: Some("#") }'],
  ['ODBC, braces', 'Driver={SQL Server};Password={p;w}#;Uid=sa'],
  ['ADO.NET, quotes', 'Server=h;Password="a;b""#";User=x'],
  ['libpq', "host=h user=ada password='#' dbname=x"],
  ['Azure', 'AccountName=a;AccountKey=#==;EndpointSuffix=x'],
  ['JSON in JSON in JSON', JSON.stringify(JSON.stringify({ a: JSON.stringify({ password: SECRET }) }))],
  ['percent-encoded JSON', 'data=%7B%22password%22%3A%22#%22%7D'],
  ['JSON in HTML', '&quot;password&quot;:&quot;#&quot;'],
  ['a part of a form', '--b\r\nContent-Disposition: form-data; name="otp"\r\n\r\n#\r\n--b--'],
  ['YAML, name and value', '- name: DB_PASSWORD\n  value: #'],
  ['XML, CDATA', '<Password><![CDATA[#]]></Password>'],
  ['XML, an attribute', '<add key="Password" value="#"/>'],
  ['XML, a nested element', '<soap:Header><AuthToken>#</AuthToken></soap:Header>'],
  ['HTML', '<input type="hidden" name="csrf_token" value="#">'],
  ['curl', "curl -s -u 'ada:#' https://a.test"],
  ['mysql', 'mysql -u root -p# shop'],
  ['a quote in a bare value', 'DB_PASSWORD=#"#'],
  ['an apostrophe in a bare value', "password: #'#"],
  ['a backtick in a bare value', 'password=#`#'],
  ['a sign in a bare value', 'password: #<B#'],
  ['a reference in a bare value', 'password=#&amp;#'],
  ['a long option', 'node app.js --password # --user ada'],
  ['an option of another command', 'redis-cli -h x -a # ping'],
  ['SQL, IDENTIFIED BY', "CREATE USER ada IDENTIFIED BY '#'"],
  ['SQL, PASSWORD', "ALTER ROLE ada WITH ENCRYPTED PASSWORD '#'"],
  ['SQL, INSERT', "INSERT INTO users (name, password) VALUES ('o''hara, x', 'y'), ('b', '#')"],
  ['SQL, INSERT with functions', "INSERT INTO users (id, password) VALUES (now(), crypt('#', gen_salt('bf')))"],
  ['a declaration with a type', "let password: string = '#'"],
  ['SQL, WHERE', "SELECT 1 FROM users WHERE password <> '#'"],
  ['SQL, a message', 'Key (email, api_token)=(a@b.test, #) already exists.'],
  ['prose', 'the password was #'],
  ['prose, quoted', 'Invalid password "#" for ada'],
  ['prose, two words', 'Invalid API key provided: #'],
  ['a filled-in header', "rawHeaders: [ 'X-Api-Key', '#' ]"]
]

t.test('secrets are masked in texts of many kinds', async t => {
  for (const [kind, text] of planted) {
    const shown = mask.text(text.replaceAll('#', SECRET))
    t.notMatch(shown, SECRET, `${kind}: ${shown}`)
    t.match(shown, '******', kind)
  }
})

t.test('secrets are masked in values of many kinds', async t => {
  for (const [kind, value] of [
    ['an error of a validator', { path: ['user', 'password'], input: SECRET }],
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
    'Invalid token: expected a number', 'total_tokens: 512', 'mkdir -p /tmp/a', 'docker run -p 8080:80 x',
    'items.map((token) => token.id)', 'docker run -p 3000 app', 'bash: passwd: command not found',
    'Secret "db" not found', 'token: z.string()', 'tokens: []', '\x1b[31mred\x1b[0m'
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
  t.equal(mask.text("(name, password) VALUES (?, 'x')"), "(name, password) VALUES (?, '******')")
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
