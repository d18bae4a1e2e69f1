import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const SOURCE = readFileSync(import.meta.filename, 'utf8').split('\n')
const lineOf = (name: string) => SOURCE.findIndex((text) => text.endsWith(` // ${name}`)) + 1

interface Db { find: () => number[] }
interface Shop extends FastifyInstance { db: Db, cahce: Db, bd: Db, deep: Db }
interface Request { tenant: string, custmer: string, method: string, server: Shop }
interface Reply { page: () => string, send: (value: unknown) => unknown }

function upperCase (this: Request): string {
  return this.tenant.toUpperCase()
}

function pageText (this: Reply): string {
  return this.page()
}

inBothProducts('a body that a hook reads before Fastify has parsed it', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onRequest', async (request) => {
      if (request.url === '/onRequest') (request.body as { name: string }).name.trim()
    })
    app.addHook('preHandler', async (request) => (request.body as { name: { first: string } }).name.first.trim())
    for (const path of ['/onRequest', '/preHandler']) app.post(path, async () => 'x')
  })
  const whyOf = async (url: string) => {
    const { collectors } = await profileOf(app, await app.inject({ method: 'POST', url, payload: { name: 'a' } }))
    return (collectors.exceptions as { summary: string }).summary
  }
  t.match(await whyOf('/onRequest'), 'did not run. Fastify parses the body after onRequest and preParsing hooks: until then, request.body is undefined.')
  t.notMatch(await whyOf('/preHandler'), 'Fastify parses')
})

inBothProducts('a decorator that is undefined is explained by the scope that has it, in each form', async (t, build) => {
  const app = await build(async (app) => {
    await app.register(async function database (scope) {
      scope.decorate('db', { find: () => [1] }) // instance
      scope.decorateRequest('tenant', 'north') // request
      scope.decorateReply('page', () => 'page') // reply
      await scope.register(async function inner (scope) {
        scope.decorate('deep', { find: () => [1] }) // deep
      })
    })
    await app.register(async function shop (instance) {
      const scope = instance as unknown as Shop
      const get = scope.get.bind(scope) as unknown as (url: string, handler: (this: Shop, request: Request, reply: Reply) => unknown) => void
      instance.decorate('cache', { find: () => [1] })
      instance.decorateRequest('customer', 'me')
      instance.decorateRequest('name', upperCase as never)
      instance.decorateReply('text', pageText as never)
      get('/instance/this', async function () { return this.db.find() })
      get('/instance/argument', async () => scope.db.find())
      get('/instance/server', async (request) => request.server.db.find())
      get('/instance/destructured', async function () {
        const { db } = this
        return db.find()
      })
      get('/request/this', async (request) => (request as unknown as { name: () => string }).name())
      get('/request/argument', async (request) => request.tenant.toUpperCase())
      get('/request/destructured', async ({ tenant }) => tenant.toUpperCase())
      get('/reply/this', async (_request, reply) => (reply as unknown as { text: () => string }).text())
      get('/reply/argument', async (_request, reply) => reply.page())
      get('/reply/destructured', async (_request, reply) => {
        const { page } = reply
        return page()
      })
      get('/deep', async function () { return this.deep.find() })
      get('/lines', async function () {
        return this.db
          .find()
      })
      const { db } = scope
      get('/outside', async () => db.find())
      get('/typo', async function () { return this.cahce.find() })
      get('/typo/other', async function () { return this.bd.find() })
      get('/typo/request', async (request) => request.custmer.trim())
      get('/unknown', async function () { return (this as unknown as { quite: Db }).quite.find() })
      get('/other', async (request) => {
        const config = JSON.parse('{}') as Shop
        return [request.method, config.db.find()]
      })
      const service = { list () { return (this as unknown as Shop).db.find() } }
      get('/service', async () => service.list())
      class Service { list () { return (this as unknown as Shop).db.find() } }
      get('/class', async () => new Service().list())
      get('/shadow', async () => [{ tenant: undefined as unknown as string }].map(({ tenant }) => tenant.trim()))
    })
  })
  const names = { instance: 'db', request: 'tenant', reply: 'page' }
  const whyOf = async (path: string): Promise<string> => {
    const { collectors } = await profileOf(app, await app.inject(path))
    return (collectors.exceptions as { summary: string }).summary.replace(/^.*? failed with TypeError\. ?/, '')
  }
  const place = (name: string) => `packages/hindsight/test/errors/missing-decorator.test.ts:${lineOf(name)}`
  for (const [kind, name] of Object.entries(names)) {
    for (const form of ['this', 'argument', 'destructured', ...kind === 'instance' ? ['server'] : []]) {
      t.equal(await whyOf(`/${kind}/${form}`), `${name} is decorated in the scope database (${place(kind)}), not in the scope shop: ` +
        'wrap that plugin in fastify-plugin, or register the route inside of it.', `${kind} ${form}`)
    }
  }
  t.equal(await whyOf('/deep'), `deep is decorated in the scope inner (${place('deep')}), not in the scope shop: register the route inside of that plugin.`)
  for (const path of ['/lines', '/outside']) t.match(await whyOf(path), 'db is decorated in the scope database', path)
  t.equal(await whyOf('/typo/other'), 'No scope has a decorator bd; a similar name is db.')
  t.equal(await whyOf('/typo'), 'No scope has a decorator cahce; a similar name is cache.')
  t.equal(await whyOf('/typo/request'), 'No scope has a decorator custmer; a similar name is customer.')
  t.equal(await whyOf('/unknown'), '')
  for (const path of ['/other', '/service', '/class', '/shadow']) t.equal(await whyOf(path), '', path)
})
