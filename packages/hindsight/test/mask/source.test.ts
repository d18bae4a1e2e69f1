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
  return maskSource(mask, excerpt.split('⏎')).join('⏎')
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

t.test('a literal of several lines keeps their number', async t => {
  for (const [excerpt, expected] of [
    ['const password = `a⏎b`⏎start()', 'const password = `******⏎`⏎start()'],
    ["const password = 'a\\⏎b'⏎start()", "const password = '******⏎'⏎start()"],
    ['x = `-----BEGIN PRIVATE KEY-----⏎abc⏎-----END PRIVATE KEY-----`', 'x = `-----BEGIN PRIVATE KEY-----******⏎⏎`'],
    ['/*⏎password: hunter2⏎*/⏎start()', '/*⏎password: ******⏎*/⏎start()']
  ] as const) t.equal(masked(excerpt), expected, excerpt)
})

t.test('an excerpt may begin within a template or a comment, and may be cut off', async t => {
  for (const [excerpt, expected] of [
    ["  where id = 1`, [id])⏎const token = load('a')⏎password = 'b'", "  where id = 1`, [id])⏎const token = load('a')⏎password = '******'"],
    ["  limit 1`⏎password = 'b'", "  limit 1`⏎password = '******'"],
    ["const q = sql`⏎select 'a'", "const q = sql`⏎select 'a'"],
    [" * it's here⏎ */⏎password = 'b'", " * it's here⏎ */⏎password = '******'"],
    ["  it's here */⏎password = 'b'", "  it's here */⏎password = '******'"],
    ["password: 'hunter2", "password: '******"],
    ['password: `hunter2', 'password: `******'],
    ['password = """hunter2"""', 'password = """******"""']
  ] as const) t.equal(masked(excerpt), expected, excerpt)
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
    if (maskSource(mask, lines).length !== lines.length) t.fail(JSON.stringify(lines))
  }
  for (const lines of [
    [''], ['', ''], ["select * from a where b = 'c';"], ['- name: a', '  value: b'], ['A=b'], ['def f(x): # y', '    return "z"'], ['f = (a) -> "b"']
  ]) t.strictSame(maskSource(mask, lines), lines)
})

t.test('the work is linear in the length', async t => {
  const workOf = (text: string): number => {
    let work = 0
    const hides = (name: string): boolean => {
      work += 1 + name.length
      return mask.hides(name)
    }
    const count = (given: string): string => {
      work += 1 + given.length
      return given
    }
    maskSource({ hides, text: count }, text.split('\n'))
    return work
  }
  for (const piece of [
    ...PIECES, "f('token',", "['a'].includes(password),", "'x' === a.", '[`$' +
      '{', 'password: {', '{ name: "token", value: "x", ', '# a\n', '<!---->', '// a( ', "'a=' + "
  ]) {
    const work = workOf(piece.repeat(3_000 / piece.length))
    t.ok(workOf(piece.repeat(30_000 / piece.length)) <= 12 * work + 200, `${piece}: ${work}`)
  }
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
    const apiKey: string = process.env.HINDSIGHT_NO_KEY ?? 'S1cretValue'
    throw new Error(`failed with ${apiKey.length} characters`)
  })
}

t.test('the page, JSON, Markdown and the profile have masked source, in both modes', async t => {
  const observed = Fastify()
  await observed.register(hindsight, { debug: true, profiler: inMemory() })
  declare(observed)
  t.teardown(async () => await observed.close())
  for (const [mode, app] of [['full', await build(t, { declare })], ['observe', observed]] as const) {
    for (const accept of ['text/html', 'application/json', 'text/markdown', 'text/plain']) {
      const { body } = await app.inject({ url: '/', headers: { accept } })
      t.notMatch(body, 'S1cretValue', `${mode}: ${accept}`)
      if (mode === 'full' || accept === 'text/html') t.match(body.replace(/<[^>]+>/g, ''), 'HINDSIGHT_NO_KEY', accept)
    }
    const profile = JSON.stringify(await profileOf(app, await app.inject('/')))
    t.match(profile, "HINDSIGHT_NO_KEY ?? '******'", `${mode}: the profile`)
    t.notMatch(profile, 'S1cretValue')
  }
})
