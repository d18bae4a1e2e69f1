import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import type { Test } from 'tap'
import { executeCommand } from '../../src/cli/run.js'
import type { CaughtLine } from '../../src/errors/caught-errors.js'
import { parts } from '../../src/parts/index.js'
import { callTool } from '../../src/reading/mcp/tools.js'
import { MemoryStorage } from '../../src/store/memory.js'
import { recordOf } from '../../src/store/summary.js'
import type { Profile } from '../../src/store/profile.js'
import { HIDDEN, PLANTED, randomToken, SECRET, SECRET_TEXTS, TOKEN_FORMATS, TOKENS } from '../mask/planted.js'
import { listen } from '../support/app.js'
import { testdir } from '../support/folder.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'

allowInspection()

/** A variable of a failing function; no part of `secret` may be shown. */
interface Planted { variable: string, value: unknown, secret: string }

/** Names of variables and of properties. */
const NAMES = [
  'password', 'userPassword', 'dbpass', 'PGPASS', 'passphrase', 'token', 'accessToken', 'refresh_token', 'csrfToken', 'apiKey', 'API_KEY', 'stripe_key',
  'clientSecret', 'privateKey', 'sessionId', 'cookie', 'authorization', 'auth', 'credentials', 'otp', 'pin', 'dsn', 'cvv', 'jwt', 'iban', 'cardNumber',
  'connectionString', 'signature', 'kennwort', 'contraseña', 'пароль', '密码'
]
/** Names of properties alone. */
const KEYS = [...NAMES, 'x-api-key', 'set-cookie', 'proxy-authorization', 'user[pass]', 'connect.sid', 'X-Auth-Token']
const secretOf = (i: number): string => `q${i}Zt7Wm-x${i}`

class Client {
  constructor (key: string, secret: string) {
    Object.assign(this, { [key]: secret })
  }
}

/** Headers in turn, as `rawHeaders` has them: more than are shown. */
function rawHeaders (key: string, secret: string): string[] {
  return [key, secret, ...Array.from({ length: 40 }, (_, i) => [`x-header-${i}`, 'some']).flat()]
}

const FORMS: ReadonlyArray<(key: string, secret: string) => unknown> = [
  (key, secret) => ({ [key]: secret }),
  (key, secret) => ({ settings: { [key]: secret } }),
  (key, secret) => ({ [key]: ['first', secret] }),
  (key, secret) => new Client(key, secret),
  (key, secret) => new Map([[key, secret]]),
  (key, secret) => new Set([{ [key]: secret }]),
  (key, secret) => [key, secret],
  (key, secret) => [[key, secret], ['accept', 'text/html']],
  (key, secret) => ({ name: key, value: secret }),
  (key, secret) => ['node', `--${key}`, secret],
  rawHeaders,
  (key, secret) => new Error(`refused: ${key}=${secret}`),
  (key, secret) => `refused: ${key}=${secret}`,
  (key, secret) => JSON.stringify({ user: 'ada', [key]: secret }),
  (key, secret) => ({ url: `https://shop.example/?a=b&${encodeURIComponent(key)}=${secret}` }),
  // It is cut within the secret.
  (key, secret) => `${'long '.repeat(36)} ${key}=${secret}`
]

/** Texts with a form that is recognized under any name, and the part that may not be shown. */
function shapes (): Array<[text: string, secret: string]> {
  const random = (format: string): string => randomToken(format)
  const tail = (token: string): [string, string] => [token, token.slice(-8)]
  return [
    ...[...TOKENS, ...TOKEN_FORMATS.map(random)].map(tail),
    ...SECRET_TEXTS.map((one): [string, string] => [one, SECRET]),
    ...PLANTED.map(([, one]): [string, string] => [one.replaceAll('#', HIDDEN), HIDDEN]),
    ...['postgres', 'redis', 'mongodb+srv', 'amqp', 'https'].map((scheme, i): [string, string] => {
      const secret = secretOf(i)
      return [`${scheme}://ada:${secret}@db.example/shop`, secret]
    }),
    ...['Bearer', 'bearer'].map((scheme): [string, string] => tail(`${scheme} ${random('{a40}')}`)),
    tail(`Basic ${Buffer.from('ada:hunter2 and more').toString('base64url')}`),
    tail(`eyJhbGciOiJIUzI1NiJ9.${random('{a40}')}.${random('{u43}')}`),
    tail(`$2b$10$${random('{a53}')}`),
    ['4111 1111 1111 1111', '1111 1111'], ['378282246310005', '2246310005'],
    [`-----BEGIN PRIVATE KEY-----\n${random('{a64}')}\nq7Zt7Wm\n-----END PRIVATE KEY-----`, 'q7Zt7Wm'],
    [`Cookie: theme=dark; sid=${secretOf(1)}`, secretOf(1)]
  ]
}

function planted (): Planted[] {
  const all: Planted[] = NAMES.map((variable, i) => ({ variable, value: secretOf(i), secret: secretOf(i) }))
  const add = (value: unknown, secret: string): void => { all.push({ variable: `value${all.length}`, value, secret }) }
  for (const [i, form] of FORMS.entries()) {
    for (const [j, key] of KEYS.entries()) {
      const secret = secretOf(1_000 * i + j)
      add(form(key, secret), secret)
    }
  }
  for (const [i, [one, secret]] of shapes().entries()) {
    const forms = [one, { note: one }, [[one]], new Map([['note', one]]), new Map([[one, 1]]), new Set([one]), { [one]: 1 }, new Error(one), Symbol(one)]
    add(one, secret)
    add(forms[1 + i % (forms.length - 1)], secret)
  }
  // They are cut within the secret.
  for (const [i, format] of ['ghp_{a36}', 'glpat-{u20}', 'npm_{a36}'].entries()) {
    const token = randomToken(format)
    const cut = `${'x'.repeat(84)} ${token}`
    for (const one of [new Error(cut), { [cut]: i }, new Map([[cut, i]])]) add(one, token.slice(6, 11))
  }
  add(4111111111111111, '1111111')
  add(4111111111111111n, '1111111')
  add({ sessions: { [secretOf(1)]: 1 } }, secretOf(1))
  add({ sql: 'select 1 from users where token = $1', parameters: [secretOf(2)] }, secretOf(2))
  return all
}

const OF_A_FUNCTION = 20

/** A module with functions that fail with the planted values in their variables: its source has no secret. */
function sourceOf (all: readonly Planted[]): string {
  let source = 'export const functions = (values) => [\n'
  for (let first = 0; first < all.length; first += OF_A_FUNCTION) {
    const variables = all.slice(first, first + OF_A_FUNCTION).map(({ variable }, i) => `const ${variable} = values[${first + i}]`)
    source += `  async () => { ${variables.join('; ')}\n    throw new Error('planted') },\n`
  }
  return `${source}]\n`
}

async function surfaces (address: string, token: string): Promise<{ profile: Profile, shown: string[] }> {
  const read = async (path: string): Promise<string> => await (await fetch(`${address}/_profiler/${token}${path}`)).text()
  const json = await read('.json')
  const profile = JSON.parse(json) as Profile
  const store = new MemoryStorage()
  store.put([recordOf(profile)])
  const source = { profiles: store, parts, replay: undefined, routes: () => [] }
  const answer = await callTool(source, 'read_profile', { token }, new AbortController().signal) ?? ''
  const out = new PassThrough()
  const printed = text(out)
  await executeCommand(['show', token, '--url', address], out, new PassThrough())
  out.end()
  return { profile, shown: [json, await read(''), await read('?panel=exceptions'), await read('.md'), answer, await printed] }
}

inBothProducts('no planted secret is shown of a failure, of a caught error, or of what blocks', async (t: Test, build) => {
  const all = planted()
  t.ok(all.length >= 419, String(all.length))
  const file = join(testdir(t, { 'planted.mjs': sourceOf(all) }), 'planted.mjs')
  const { functions } = await import(pathToFileURL(file).href) as { functions: (values: unknown[]) => Array<() => Promise<unknown>> }
  const failing = functions(all.map(({ value }) => value))
  const token = randomToken('ghp_{a36}')
  // What another process has of this time is no block.
  const named = { [token] () { for (const before = process.cpuUsage(); process.cpuUsage(before).user < 600_000;); } }
  const app = await build((app) => {
    app.get('/blocking', async () => { named[token]?.(); return {} })
    for (const [i, fail] of failing.entries()) {
      app.get(`/failing/${i}`, fail)
      app.get(`/caught/${i}`, async () => await fail().catch(() => []))
    }
  })
  t.equal(await hasInspection(), true)
  const address = `http://127.0.0.1:${await listen(app)}`
  const leaks: string[] = []
  for (const kind of ['failing', 'caught']) {
    for (const i of failing.keys()) {
      const response = await fetch(`${address}/${kind}/${i}`, { headers: { accept: 'text/html' } })
      const body = await response.text()
      const { profile, shown } = await surfaces(address, String(response.headers.get('x-debug-token')))
      const { lines = [] } = (profile.collectors.caughtErrors ?? {}) as { lines?: CaughtLine[] }
      const variables = profile.exceptions[0]?.values?.[0]?.variables ?? lines[0]?.errors[0]?.values ?? []
      for (const { variable, secret } of all.slice(i * OF_A_FUNCTION, (i + 1) * OF_A_FUNCTION)) {
        const { value } = variables.find(({ name }) => name === variable) ?? {}
        const hasSecret = [body, ...shown].some((one) => one.includes(secret))
        if (hasSecret || value === undefined) leaks.push(`${kind} ${i}: ${variable} = ${String(value).slice(0, 200)}`)
      }
    }
  }
  t.same(leaks, [])
  let budget = ''
  // A block has no call where the thread that asks for it gets no CPU.
  for (let tries = 0; tries < 10 && !budget.includes('"calls"'); tries++) {
    const { headers } = await fetch(`${address}/blocking`)
    const { profile, shown } = await surfaces(address, String(headers.get('x-debug-token')))
    budget = JSON.stringify(profile.collectors.performance)
    t.notOk(shown.some((one) => one.includes(token)))
  }
  t.match(budget, /"calls":\[\{"function":"\*{6}"/)
})
