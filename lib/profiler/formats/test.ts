import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MASKED } from '../../mask/mask.js'
import type { Profile } from '../profile.js'
import { bodyPieces, headerPieces, targetPieces } from '../resend/pieces.js'
import type { StoredRequest } from '../resend/stored-request.js'
import { isFailure } from '../summary.js'
import { bodyExpression } from './fetch.js'
import { headOf, type Format, type FormatOptions } from './format.js'
import { commentText, jsName, jsString, jsText, maskedFunction } from './js-text.js'

/** What a framework of tests calls what every test has. */
interface Dialect {
  imports: string[]
  test: string
  behind: string
  ok: (condition: string, message: string) => string
  equal: (actual: string, expected: string) => string
}

const TAP: Dialect = {
  imports: ["import t from 'tap'"],
  test: 't.test',
  behind: 't.teardown',
  ok: (condition, message) => `t.ok(${condition}, ${message})`,
  equal: (actual, expected) => `t.equal(${actual}, ${expected})`
}
const NODE: Dialect = {
  imports: ["import assert from 'node:assert/strict'", "import { test } from 'node:test'"],
  test: 'test',
  behind: 't.after',
  ok: (condition, message) => `assert.ok(${condition}, ${message})`,
  equal: (actual, expected) => `assert.equal(${actual}, ${expected})`
}

/** A regression test for tap. */
export const tapTest: Format = testFormat('tap', 'tap test', TAP)

/** A regression test for node:test. */
export const nodeTest: Format = testFormat('node', 'node:test test', NODE)

function testFormat (name: string, label: string, dialect: Dialect): Format {
  return {
    name,
    label,
    file: (token) => `hindsight-${token}.test.mjs`,
    type: 'text/plain; charset=utf-8',
    write: (request, profile, options) => source(dialect, request, profile, options)
  }
}

function source (dialect: Dialect, request: StoredRequest, profile: Profile, { app = './app.js' }: FormatOptions): string {
  const { method, host, gaps, ip } = request
  const headers = [...host === null ? [] : [['host', [host]] as const], ...headerPieces(request)]
  const failed = isFailure(profile)
  // Whoever asked was told of no failure.
  const behind = failed && profile.status < 400
  return [
    ...headOf(request, profile).map((line) => `// ${line}`),
    failed
      ? '// It fails as long as the failure is there, and passes once it is mended. Say more of what should hold then.'
      : '// It passes as long as the request is answered as it was then. Say more of what should hold.',
    ...dialect.imports,
    "import Fastify from 'fastify'",
    '// Adapt: the plugin that makes your application, as fastify-cli starts it. Where a function of yours makes the whole',
    '// instance, call that in place of the lines that make and register `app`, ahead of its `ready`.',
    `import application from ${jsString(isAbsolute(app) ? pathToFileURL(app).href : app)}`,
    ...maskedFunction(gaps),
    '',
    `${dialect.test}(${jsString(`${method} ${profile.route?.pattern ?? request.path.map((part) => typeof part === 'string' ? `/${part}` : '/…').join('')}`)}, async (t) => {`,
    ...failed ? ['  const raised = []'] : [],
    ...behind
      ? ['  // What is raised behind the response goes to the log alone.', "  const app = Fastify({ logger: { level: 'error', stream: { write (line) { raised.push(JSON.parse(line).err) } } } })"]
      : ['  const app = Fastify()'],
    `  ${dialect.behind}(() => app.close())`,
    ...failed ? ["  app.addHook('onError', async (_request, _reply, error) => { raised.push(error) })"] : [],
    '  await app.register(application)',
    '  const response = await app.inject({',
    `    method: ${jsString(method)},`,
    `    url: ${jsText(targetPieces(request))},`,
    ...ip === null || /^(?:127\.|::1$|::ffff:127\.|$)/.test(ip) ? [] : [`    remoteAddress: ${jsString(ip)},`],
    `    headers: {${headers.length === 0 ? '' : `\n${grouped(headers).map(([name, value]) => `      ${name}: ${value}`).join(',\n')}\n    `}}${bodyPieces(request) === null ? '' : ','}`,
    ...bodyPieces(request) === null ? [] : [`    payload: ${bodyExpression(request, '    ')}`],
    '  })',
    ...behind ? ['  await app.close()'] : [],
    ...assertions(dialect, profile, failed).map((line) => `  ${line}`),
    '})',
    ''
  ].join('\n')
}

// A name that comes twice is a list.
function grouped (headers: ReadonlyArray<readonly [string, Parameters<typeof jsText>[0]]>): Array<[string, string]> {
  const names = [...new Set(headers.map(([name]) => name))]
  return names.map((name) => {
    const values = headers.filter(([one]) => one === name).map(([, value]) => jsText(value))
    return [name === '__proto__' ? "['__proto__']" : jsName(name), values.length === 1 ? String(values[0]) : `[${values.join(', ')}]`]
  })
}

function assertions ({ ok, equal }: Dialect, profile: Profile, failed: boolean): string[] {
  const { status, exceptions } = profile
  if (!failed) return [equal('response.statusCode', String(status))]
  const last = Array.isArray(exceptions) ? exceptions.at(-1) : undefined
  const isTold = last !== undefined && last.message !== '' && !last.message.includes(MASKED) && !/… \([\d,]+ more/.test(last.message)
  return [
    ...isTold ? [`// ${commentText(`${last.name}: ${last.message}`)}`, ok(`!raised.some((error) => error?.message === ${jsString(last.message)})`, jsString('it is raised again'))] : [],
    status >= 500 || status < 400
      ? ok('response.statusCode < 500', "'it is answered with ' + response.statusCode")
      : ok(`response.statusCode !== ${status}`, "'it is answered with ' + response.statusCode + ' again'")
  ]
}
