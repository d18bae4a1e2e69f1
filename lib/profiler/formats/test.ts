import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MASKED } from '../../mask/mask.js'
import type { Profile } from '../profile.js'
import { splitAtPlaceholders } from '../replay/stored-request.js'
import { isFailure } from '../summary.js'
import type { Format } from './formats.js'
import { commentText, jsBody, jsText, jsValue, maskedFunction } from './source-text.js'

/** A regression test for node:test. */
export const test: Format = {
  name: 'test',
  extension: '.test.mjs',
  type: 'text/plain; charset=utf-8',
  write: ({ request, message: { method, target, headers, body }, profile, head, app }) => {
    const { masked, ip = '' } = request
    const failed = isFailure(profile) && profile.status >= 400
    const path = splitAtPlaceholders(target.split('?', 1).join()).filter((_, i) => i % 2 === 0).join('…')
    const isLocal = ['', '127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(ip)
    return [
      ...head.map((line) => `// ${line}`),
      failed
        ? '// It fails as long as the failure exists, and passes when it is fixed. Add what should be true then.'
        : '// It passes as long as the request has the same status as then. Add what should be true.',
      "import assert from 'node:assert/strict'",
      "import { test } from 'node:test'",
      "import Fastify from 'fastify'",
      '// Adapt: the plugin that makes your application, as fastify-cli starts it. If a function of yours makes the',
      '// whole instance, call it in place of the lines that make and register `app`, before its `ready`.',
      `import application from ${jsText(isAbsolute(app) ? pathToFileURL(app).href : app)}`,
      ...maskedFunction(masked),
      '',
      `test(${jsText(`${method} ${profile.route?.pattern ?? path}`)}, async (t) => {`,
      '  const app = Fastify()',
      '  t.after(() => app.close())',
      ...failed
        ? ['  const raised = []', "  app.addHook('onError', async (_request, _reply, error) => { raised.push(error) })"]
        : [],
      '  await app.register(application)',
      '  const response = await app.inject({',
      `    method: ${jsText(method)},`,
      `    url: ${jsText(target, true)},`,
      ...isLocal ? [] : [`    remoteAddress: ${jsText(ip)},`],
      ...body === undefined ? [] : [`    payload: ${jsBody(body, request, '    ')},`],
      `    headers: ${jsValue(headers, '    ')}`,
      '  })',
      ...assertions(profile, failed).map((line) => `  ${line}`),
      '})',
      ''
    ].join('\n')
  }
}

function assertions ({ status, exceptions }: Profile, failed: boolean): string[] {
  if (!failed) return [`assert.equal(response.statusCode, ${status})`]
  const { name, message } = exceptions.at(-1) ?? { name: '', message: '' }
  const isWhole = message !== '' && !message.includes(MASKED) && !/… \([\d,]+ more/.test(message)
  return [
    ...isWhole
      ? [
          `// ${commentText(`${name}: ${message}`)}`,
          `assert.ok(!raised.some((error) => error?.message === ${jsText(message)}), 'it is raised again')`
        ]
      : [],
    status >= 500
      ? "assert.ok(response.statusCode < 500, 'it is answered with ' + response.statusCode)"
      : `assert.ok(response.statusCode !== ${status}, 'it is answered with ' + response.statusCode + ' again')`
  ]
}
