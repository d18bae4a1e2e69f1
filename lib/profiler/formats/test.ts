import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MASKED } from '../../mask/mask.js'
import type { Profile } from '../profile.js'
import { splitAtPlaceholders } from '../replay/stored-request.js'
import { isFailure } from '../summary.js'
import type { Format, FormatInput } from './formats.js'
import { commentText, jsBody, jsName, jsString, jsText, maskedFunction } from './source-text.js'

/** The calls of a test framework. */
interface Dialect {
  imports: string[]
  test: string
  teardown: string
  ok: string
  equal: string
}

/** A regression test for tap. */
export const tapTest: Format = testFormat('tap', 'tap test', {
  imports: ["import t from 'tap'"], test: 't.test', teardown: 't.teardown', ok: 't.ok', equal: 't.equal'
})

/** A regression test for node:test. */
export const nodeTest: Format = testFormat('node', 'node:test test', {
  imports: ["import assert from 'node:assert/strict'", "import { test } from 'node:test'"],
  test: 'test',
  teardown: 't.after',
  ok: 'assert.ok',
  equal: 'assert.equal'
})

function testFormat (name: string, label: string, dialect: Dialect): Format {
  const type = 'text/plain; charset=utf-8'
  return { name, label, extension: '.test.mjs', type, write: (input) => source(dialect, input) }
}

function source (dialect: Dialect, { request, message, profile, head, app }: FormatInput): string {
  const { masked, ip = '' } = request
  const { method, target, headers, body } = message
  const failed = isFailure(profile)
  // An exception after the response is only logged.
  const failedLate = failed && profile.status < 400
  const fields = Object.entries(headers).map(([name, values]) => {
    const written = [values].flat().map((value) => jsText(value))
    return `      ${jsName(name)}: ${written.length === 1 ? written.join() : `[${written.join(', ')}]`}`
  })
  const path = splitAtPlaceholders(target.split('?', 1).join()).filter((_, i) => i % 2 === 0).join('…')
  const isLocal = /^(?:127\.|::1$|::ffff:127\.|$)/.test(ip)
  return [
    ...head.map((line) => `// ${line}`),
    failed
      ? '// It fails as long as the failure exists, and passes when it is fixed. Add what should be true then.'
      : '// It passes as long as the request has the same status as then. Add what should be true.',
    ...dialect.imports,
    "import Fastify from 'fastify'",
    '// Adapt: the plugin that makes your application, as fastify-cli starts it. If a function of yours makes the',
    '// whole instance, call it in place of the lines that make and register `app`, before its `ready`.',
    `import application from ${jsString(isAbsolute(app) ? pathToFileURL(app).href : app)}`,
    ...maskedFunction(masked),
    '',
    `${dialect.test}(${jsString(`${method} ${profile.route?.pattern ?? path}`)}, async (t) => {`,
    ...failed ? ['  const raised = []'] : [],
    ...failedLate
      ? [
          '  // An exception after the response is only logged.',
          '  const stream = { write (line) { raised.push(JSON.parse(line).err) } }',
          "  const app = Fastify({ logger: { level: 'error', stream } })"
        ]
      : ['  const app = Fastify()'],
    `  ${dialect.teardown}(() => app.close())`,
    ...failed ? ["  app.addHook('onError', async (_request, _reply, error) => { raised.push(error) })"] : [],
    '  await app.register(application)',
    '  const response = await app.inject({',
    `    method: ${jsString(method)},`,
    `    url: ${jsText(target, true)},`,
    ...isLocal ? [] : [`    remoteAddress: ${jsString(ip)},`],
    `    headers: {${fields.length === 0 ? '' : `\n${fields.join(',\n')}\n    `}}${body === undefined ? '' : ','}`,
    ...body === undefined ? [] : [`    payload: ${jsBody(body, request, '    ')}`],
    '  })',
    ...failedLate ? ['  await app.close()'] : [],
    ...assertions(dialect, profile, failed).map((line) => `  ${line}`),
    '})',
    ''
  ].join('\n')
}

function assertions ({ ok, equal }: Dialect, { status, exceptions }: Profile, failed: boolean): string[] {
  if (!failed) return [`${equal}(response.statusCode, ${status})`]
  const { name, message } = exceptions.at(-1) ?? { name: '', message: '' }
  const isWhole = message !== '' && !message.includes(MASKED) && !/… \([\d,]+ more/.test(message)
  return [
    ...isWhole
      ? [
          `// ${commentText(`${name}: ${message}`)}`,
          `${ok}(!raised.some((error) => error?.message === ${jsString(message)}), 'it is raised again')`
        ]
      : [],
    status >= 500 || status < 400
      ? `${ok}(response.statusCode < 500, 'it is answered with ' + response.statusCode)`
      : `${ok}(response.statusCode !== ${status}, 'it is answered with ' + response.statusCode + ' again')`
  ]
}
