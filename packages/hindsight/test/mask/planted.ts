import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'

// Secrets that the masks of the documents cover.

const S = 'Zq7kV2m9Xw4t'
/** The secret of `SECRET_TEXTS`. */
export const SECRET = S
const twice = (text: string): string => encodeURIComponent(encodeURIComponent(text))
const letters = (count: number): string => 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA'.repeat(8).slice(0, count)
const hex = (count: number): string => '0f1e2d3c4b5a69788796a5b4c3d2e1f0'.repeat(8).slice(0, count)

/** Texts of which no part of `SECRET` may be shown. */
export const SECRET_TEXTS = [
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

/** Tokens of issuers. */
export const TOKENS = [
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

/** The formats of tokens of issuers: `ghp_{a36}` is 36 letters and digits after the prefix. */
export const TOKEN_FORMATS = readFileSync(new URL('issuer-tokens.txt', import.meta.url), 'utf8').trim().split('\n')

/** A token of such a format. */
export function randomToken (format: string): string {
  return format.replace(/\{(\w)(\d+)\}/g, (_all, kind: string, count: string) => {
    const characters = CHARACTERS[kind] as string
    return Array.from({ length: Number(count) }, () => characters[randomInt(characters.length)]).join('')
  })
}

/** The secret of `PLANTED`. */
export const HIDDEN = 'hunter22'

export class Account { user = 'ada'; recoveryCode = HIDDEN }

/** Texts of many kinds; each has `HIDDEN` once or more, as `#`. */
export const PLANTED: ReadonlyArray<readonly [kind: string, text: string]> = [
  ['a Map', "Map(1) { 'password' => '#' }"],
  ['a Map, inspected', inspect(new Map([['password', HIDDEN]]))],
  ['an instance, inspected', inspect(new Account())],
  ['an object, inspected with colors', inspect({ otp: HIDDEN }, { colors: true })],
  ['a Map, inspected with colors', inspect(new Map([['password', HIDDEN]]), { colors: true })],
  ['colors in JSON', JSON.stringify({ msg: inspect({ pin: HIDDEN }, { colors: true }) })],
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
  ['ODBC, braces', 'Driver={SQL Server};Password={p;#};Uid=sa'],
  ['ADO.NET, quotes', 'Server=h;Password="a;b""#";User=x'],
  ['libpq', "host=h user=ada password='#' dbname=x"],
  ['Azure', 'AccountName=a;AccountKey=#==;EndpointSuffix=x'],
  ['JSON in JSON in JSON', JSON.stringify(JSON.stringify({ a: JSON.stringify({ password: HIDDEN }) }))],
  ['percent-encoded JSON', 'data=%7B%22password%22%3A%22#%22%7D'],
  ['JSON in HTML', '&quot;password&quot;:&quot;#&quot;'],
  ['XML, CDATA', '<Password><![CDATA[#]]></Password>'],
  ['XML, an attribute', '<add key="Password" value="#"/>'],
  ['XML, a nested element', '<soap:Header><AuthToken>#</AuthToken></soap:Header>'],
  ['HTML', '<input type="hidden" name="csrf_token" value="#">'],
  ['HTML, the value first', '<input value="#" type="hidden" name="csrf_token">'],
  ['HTML, without quotes', '<input value=# name=password>'],
  ['HTML, a name with a blank', '<input value="#" name="api key">'],
  ['XML, an element with a name', '<param name="password">#</param>'],
  ['a name of two words', 'the encryption key: #'],
  ['a name in parentheses', 'env(PASSWORD)=#'],
  ['a quote in a bare value', 'DB_PASSWORD=#"#'],
  ['an apostrophe in a bare value', "password: #'#"],
  ['a backtick in a bare value', 'password=#`#'],
  ['a sign in a bare value', 'password: #<B#'],
  ['a reference in a bare value', 'password=#&amp;#'],
  ['SQL, IDENTIFIED BY', "CREATE USER ada IDENTIFIED BY '#'"],
  ['SQL, PASSWORD', "ALTER ROLE ada WITH ENCRYPTED PASSWORD '#'"],
  ['SQL, INSERT', "INSERT INTO users (name, password) VALUES ('o''hara, x', 'y'), ('b', '#')"],
  ['SQL, INSERT with functions', "INSERT INTO users (id, password) VALUES (now(), crypt('#', gen_salt('bf')))"],
  ['SQL, WHERE', "SELECT 1 FROM users WHERE password <> '#'"],
  ['SQL, LIKE', "SELECT 1 FROM users WHERE password NOT ILIKE N'#%'"],
  ['SQL, IN', "SELECT 1 FROM users WHERE u.api_token IN ('x', '#')"],
  ['SQL, a message', 'Key (email, api_token)=(a@b.test, #) already exists.']
]
