import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { profileMarkdown } from '../support/marks.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const SOURCE = readFileSync(import.meta.filename, 'utf8').split('\n')
const lineOf = (name: string) => SOURCE.findIndex((text) => text.endsWith(` // ${name}`)) + 1

/** What a request shows of its rejection. */
async function rejectionOf (app: FastifyInstance, url: string, payload: object) {
  const profile = await profileOf(app, await app.inject({ method: 'POST', url, payload }))
  const { summary, handler } = profile.collectors.exceptions as { summary: string, handler?: { line: number } }
  return { fields: profile.exceptions.at(-1)?.rejected?.fields, summary, line: handler?.line, markdown: profileMarkdown(profile) }
}

const street = { type: 'string', minLength: 3 } // street
const order = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' }, // name
    type: { type: 'integer' }, // type
    address: { type: 'object', properties: { street } },
    tags: { type: 'array', uniqueItems: true } // tags
  }
}

inBothProducts('messages of a validator are shown as they are, keywords of JSON Schema in words, and each with its value', async (t, build) => {
  const app = await build((app) => {
    app.post<{ Body: { name: string } }>('/order', { schema: { body: order, response: { 200: order } } }, () => 'never')
    // As fastify-type-provider-zod makes them.
    const zodCompiler = ({ schema }: { schema: unknown }) => (data: unknown) => {
      const { error } = (schema as z.ZodType).safeParse(data)
      if (error === undefined) return { value: data }
      const issues = error.issues.map(({ code, path, message, ...params }) => ({ keyword: code, instancePath: `/${path.join('/')}`, message, params }))
      return { error: issues as never }
    }
    const body = z.object({
      email: z.email(), // email
      first: z.string(),
      second: z.string()
    }).refine(({ first, second }) => first === second, { message: 'must match the other field', path: ['second'], when: () => true })
    app.post('/zod', { schema: { body }, validatorCompiler: zodCompiler as never }, () => 'never')
  })
  const zod = await rejectionOf(app, '/zod', { email: 'x', first: 'a', second: 'b' })
  t.match(zod.fields, [
    { field: 'email', received: '"x"', message: 'Invalid email address' }, { field: 'second', received: '"b"', message: 'must match the other field' }
  ])
  t.match(zod.summary, 'rejected the body; the handler did not run.')
  t.match(zod.markdown, 'received `"x"`: Invalid email address')
  t.equal(zod.line, lineOf('email'))
  for (const [payload, field, line] of [
    [{}, { field: 'name', rule: 'required' }, 'name'],
    [{ name: 'a', type: 'b' }, { received: '"b"', message: 'must be integer' }, 'type'],
    [{ name: 'a', address: { street: 'a' } }, { message: 'must NOT have fewer than 3 characters' }, 'street'],
    [{ name: 'a', tags: [1, 1] }, { message: /^must NOT have duplicate items/ }, 'tags']
  ] as const) {
    const { fields, line: shown, summary } = await rejectionOf(app, '/order', payload)
    t.match(fields, [field], summary)
    t.equal(shown, lineOf(line), summary)
  }
})

inBothProducts('the messages in the response of an exception of Nest are shown', async (t, build) => {
  const app = await build((app) => {
    app.post<{ Body: { messages: unknown } }>('/nest', ({ body }) => {
      const response = { message: body.messages, error: 'Bad Request', statusCode: 400 }
      throw Object.assign(new Error('Bad Request Exception'), { status: 400, statusCode: 400, response })
    })
  })
  const messages = ['email must be an email', 'name should not be empty']
  const known = await rejectionOf(app, '/nest', { email: 'x', messages })
  t.match(known.fields, [{ field: 'email', received: '"x"', message: messages[0] }, { field: 'name', message: messages[1] }])
  t.match(known.summary, /^POST \/nest \(.+\) rejected the body\.$/)
  const unknown = await rejectionOf(app, '/nest', { messages })
  t.equal(unknown.fields, undefined)
  t.match(unknown.markdown, messages.join('; '))
  t.match((await rejectionOf(app, '/nest', { messages: 'one' })).markdown, 'Bad Request Exception')
})
