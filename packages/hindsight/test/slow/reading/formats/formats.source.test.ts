import { execFile, type ExecFileException } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { FastifyPluginAsync } from 'fastify'
import t from 'tap'
import ts from 'typescript'
import { jsText, jsValue } from '../../../../src/reading/formats/formats.js'
import { build, profileOf } from '../../../support/app.js'
import { hostileProfile, nasty, requested, written } from '../../../reading/formats/stored.js'

// Beside the packages, so that what is generated finds them.
const folder = mkdtempSync(join(import.meta.dirname, '../../../../../../node_modules/.generated-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

interface Run { code: number, out: string }

/** Runs a module as a person would. */
function run (file: string, env: Record<string, string> = {}): Promise<Run> {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:TAP|_TAPJS|NODE_TEST|NODE_CHANNEL)/.test(name)))
  return new Promise((resolve) => execFile(process.execPath, [file], {
    cwd: folder, env: { ...own, ...env }
  }, (error: ExecFileException | null, stdout, stderr) => {
    resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr })
  }))
}

t.test('any text is a string literal and any data is a literal value', async (t) => {
  const evaluate = (source: string): unknown => new Function(`return ${source}`)() as unknown // eslint-disable-line no-new-func
  fc.assert(fc.property(nasty, (text) => evaluate(jsText(text)) === text && !/[\n\r\u2028\u2029]|\p{Cf}/u.test(jsText(text))))
  fc.assert(fc.property(fc.jsonValue(), nasty, (value, name) => {
    const data = JSON.parse(JSON.stringify({ value, [name]: 1, __proto__: 0 })) as unknown
    return JSON.stringify(evaluate(`(${jsValue(data)})`)) === JSON.stringify(data)
  }))
  t.equal(JSON.stringify(evaluate(`(${jsValue(JSON.parse('{"__proto__":{"a":1}}'))})`)), '{"__proto__":{"a":1}}')
})

t.test('generated source is a module of fixed statements, for any profile', async (t) => {
  const shapeOf = (source: string): string => {
    const file = ts.createSourceFile('a.mjs', source, ts.ScriptTarget.Latest)
    const broken = (file as unknown as { parseDiagnostics: unknown[] }).parseDiagnostics.length
    const calls = new Set<string>()
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) calls.add(node.expression.getText(file))
      ts.forEachChild(node, visit)
    }
    visit(file)
    return [broken, file.statements.length, ...[...calls].filter((name) => name !== 'JSON.stringify').sort()].join(' ')
  }
  const expected = { test: '0 5 Fastify app.close app.inject app.register assert.ok t.after test' }
  for (const [name, shape] of Object.entries(expected)) {
    fc.assert(fc.property(hostileProfile, (profile) => {
      const source = written(name, profile)
      if (shapeOf(source) !== shape) throw new Error(source)
    }), { numRuns: 150 })
  }
})

const APP = `export default async function application (app) {
  app.post('/orders/:id', async (request) => {
    if (FAILS && request.body.amount > 1 && request.headers['x-kind'] === 'a' && request.query.q === "it's")
      throw new Error('No stock of "' + request.params.id + '"')
    return { ok: true }
  })
}
`

t.test('the test of a failure fails, and passes when the error is fixed', async (t) => {
  writeFileSync(join(folder, 'live.mjs'), APP.replace('FAILS', 'true'))
  const live = await import(join(folder, 'live.mjs')) as { default: FastifyPluginAsync }
  const app = await build({ declare: async (app) => await app.register(live.default) })
  t.teardown(() => app.close())
  const response = await app.inject(
    { method: 'POST', url: "/orders/7?q=it's", headers: { 'x-kind': 'a', accept: 'text/html' }, payload: { amount: 2, note: "'; process.exit(0) //" } }
  )
  t.equal(response.statusCode, 500)
  const profile = await profileOf(app, response)
  const file = join(folder, 'of.test.mjs')
  writeFileSync(file, written('test', profile))
  writeFileSync(join(folder, 'app.js'), APP.replace('FAILS', 'true'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const before = await run(file)
  t.not(before.code, 0, 'fails')
  t.match(before.out, /the status is 500 again/, 'by its own assertion')
  writeFileSync(join(folder, 'app.js'), APP.replace('FAILS', 'false'))
  const after = await run(file)
  t.equal(after.code, 0, `passes\n${after.out}`)
})

t.test('the test of a success checks its status, and needs the masked values', async (t) => {
  const profile = requested({ target: '/a', headers: { authorization: 'Bearer ******' } })
  writeFileSync(
    join(folder, 'other.mjs'),
    "export default async (app) => { app.get('/a', async ({ headers }, reply) => reply.code(headers.authorization === 'Bearer x' ? 200 : 401).send()) }\n"
  )
  const file = join(folder, 'kept.test.mjs')
  writeFileSync(file, written('test', profile).replace('./app.js', './other.mjs'))
  t.match(await run(file), { code: 1, out: /HINDSIGHT_AUTHORIZATION is not set: the profile has it masked/ })
  t.equal((await run(file, { HINDSIGHT_AUTHORIZATION: 'x' })).code, 0)
  t.match(await run(file, { HINDSIGHT_AUTHORIZATION: 'y' }), { code: 1, out: /401/ })
})
