import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import * as formats from 'ajv-formats'
import fc from 'fast-check'
import t from 'tap'
import { hostileProfile, requested, written } from './stored.js'

const require = createRequire(import.meta.url)
const schemas = require('har-schema') as Record<string, { $schema?: string }>
const ajv = new Ajv({ strict: false })
formats.default.default(ajv)
ajv.addMetaSchema(JSON.parse(readFileSync(join(dirname(require.resolve('ajv/package.json')), 'lib/refs/json-schema-draft-06.json'), 'utf8')) as object)
for (const schema of Object.values(schemas)) ajv.addSchema(schema)
const isHar = ajv.compile({ $ref: 'har.json#' })

t.test('an archive of any profile is valid by the schema of the format', async (t) => {
  t.notOk(isHar({ log: { version: '1.2', entries: [{}] } }), 'the schema reports an error')
  fc.assert(fc.property(hostileProfile, (profile) => {
    const text = written('har', profile)
    if (!isHar(JSON.parse(text))) throw new Error(ajv.errorsText(isHar.errors))
    if (/[^\P{Cc}\n]|\p{Cf}/u.test(text)) throw new Error('something that cannot be seen')
  }), { numRuns: 100 })
})

t.test('an archive has the request and the response', async (t) => {
  const { log } = JSON.parse(written('har', requested({
    target: '/a?x=1%202&y',
    httpVersion: '1.1',
    headers: {
      host: 'h.test', cookie: 'sid=******', 'content-type': 'application/x-www-form-urlencoded'
    },
    body: { a: '1', password: '******' }
  }, { method: 'POST', status: 302, duration: 3.5, collectors: { response: { headers: { location: '/b', 'set-cookie': ['a=******; Path=/'] }, size: 3 } } })))
  t.match(log.entries[0], {
    time: 3.5,
    request: {
      method: 'POST',
      url: 'http://127.0.0.1:3000/a?x=1%202&y',
      headers: [{ name: 'host', value: 'h.test' }, { name: 'content-type' }, { name: 'cookie', value: 'sid=******' }],
      queryString: [{ name: 'x', value: '1 2' }, { name: 'y', value: '' }],
      postData: { mimeType: 'application/x-www-form-urlencoded', text: 'a=1&password=******' }
    },
    response: {
      status: 302, statusText: 'Found', redirectURL: '/b', headers: [{ name: 'location' }, { name: 'set-cookie', value: 'a=******; Path=/' }], bodySize: 3
    }
  })
})
