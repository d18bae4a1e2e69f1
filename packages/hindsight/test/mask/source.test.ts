import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../src/hindsight.js'
import { createMask } from '../../src/mask/mask.js'
import { maskSource } from '../../src/mask/source.js'
import { build, inMemory, profileOf } from '../support/app.js'

const mask = createMask()

/** The excerpts of a file, one a line; `⏎` is the end of a line of an excerpt. */
function excerptsOf (file: string): string[] {
  return readFileSync(new URL(file, import.meta.url), 'utf8').trimEnd().split('\n')
}

function masked (excerpt: string): string {
  return maskSource(mask.hides, excerpt.split('⏎')).join('⏎')
}

t.test('the literals of secret names are masked in source', async t => {
  for (const excerpt of excerptsOf('source-secret.txt')) {
    t.notMatch(masked(excerpt), /S1cretValue|482_?913|737/, excerpt)
    t.match(masked(excerpt), '******', excerpt)
  }
})

t.test('ordinary source stays as it is', async t => {
  for (const excerpt of excerptsOf('source-plain.txt')) t.equal(masked(excerpt), excerpt, excerpt)
})

t.test('a literal may end on another line, and may be cut', async t => {
  for (const [excerpt, expected] of [
    ['const password = `a⏎b`⏎start()', 'const password = `******⏎b`⏎start()'],
    ['x = `-----BEGIN PRIVATE KEY-----⏎abc⏎-----END PRIVATE KEY-----`', 'x = `******⏎******⏎******`'],
    ["password: 'hunter2…", "password: '******"],
    ['password = """hunter2"""', 'password = """hunter2"""']
  ] as const) t.equal(masked(excerpt), expected, excerpt)
})

t.test('ordinary lines of authentication stay as they are', async t => {
  for (const line of [
    "app.addHook('preHandler', authenticate)", "app.addHook('onRequest', verifyToken)", "app.addHook('onRequest', scope.auth)",
    "app.addHook('onRequest', async function auth () {})", "app.get('/me', { onRequest: scope.auth }, accept)",
    "app.register(auth, { prefix: '/auth' })", "app.decorate('auth', verify)", "app.decorateRequest('account', function token () {})",
    "app.addHook('onRequest', function session () {})", "if (session.kind === 'guest') return", "request.session.user = 'ada'"
  ]) t.equal(masked(line), line)
})

const PIECES = [
  "'", '"', '`', '$' + '{', '}', '{', '(', ')', '[', ']', '<', '>', 'password', ' = ', ': ', '===', ' || ', '// ', '/*', '*/', '# ', '<!--', '-->', '\\', '\n',
  ', ', ';', 'x', "'a'", '1234', '/', '*', '=>', 'case ', 'return ', 'type ', 'switch ', '?', '!', '.', 'T<', 'as ', '\u2028', '\r', 'value', '𝒳', '\ud800'
]

t.test('any text is accepted, and the number of lines stays', async t => {
  let seed = 7
  const next = (max: number): number => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) % max
  for (let i = 0; i < 2_000; i++) {
    const lines = Array.from({ length: 1 + next(40) }, () => PIECES[next(PIECES.length)]).join('').split('\n')
    if (maskSource(mask.hides, lines).length !== lines.length) t.fail(JSON.stringify(lines))
  }
  for (const lines of [
    [''], ['', ''], ["select * from a where b = 'c';"], ['- name: a', '  value: b'], ['A=b'], ['def f(x): # y', '    return "z"'], ['f = (a) -> "b"']
  ]) t.strictSame(maskSource(mask.hides, lines), lines)
})

t.test('excerpts are masked once for all requests, path parameters in each', async t => {
  const lines = ["password = 'hunter2'", "start('visible')"]
  t.equal(mask.source(lines), mask.source(lines))
  t.same(mask.source(lines), ["password = '******'", "start('visible')"])
  t.same(mask.withParams({ token: 'visible', id: 'x' }).source(lines), ["password = '******'", "start('******')"])
  t.equal(mask.withParams({ token: 'absent-value' }).source(lines), mask.source(lines), 'the same lines')
  t.same(createMask(['start']).source(["start = 'a'"]), ["start = '******'"], 'names of the option `mask`')
})

function declare (app: FastifyInstance): void {
  app.get('/', async () => {
    const apiKey: string = 'S1cretValue'
    throw new Error(`failed with ${apiKey.length} characters`)
  })
}

t.test('the page, JSON, Markdown and the profile have masked source, with both products', async t => {
  const observed = Fastify()
  await observed.register(hindsight, { debug: true, profiler: inMemory() })
  declare(observed)
  t.teardown(async () => await observed.close())
  for (const [product, app] of [['service', await build(t, { declare })], ['package', observed]] as const) {
    for (const accept of ['text/html', 'application/json', 'text/markdown', 'text/plain']) {
      const { body } = await app.inject({ url: '/', headers: { accept } })
      t.notMatch(body, 'S1cretValue', `${product}: ${accept}`)
      if (product === 'service' || accept === 'text/html') t.match(body.replace(/<[^>]+>/g, ''), 'apiKey: string', accept)
    }
    const profile = JSON.stringify(await profileOf(app, await app.inject('/')))
    t.match(profile, "apiKey: string = '******'", `${product}: the profile`)
    t.notMatch(profile, 'S1cretValue')
  }
})
