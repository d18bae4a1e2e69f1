/** Attributes that compile, and attributes that must not: `npm run lint` compiles this file, no test runs it. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type {} from '../../app/service.js'
import type { RouteAttributes } from '../../lib/options.js'
import type { ConvertedParams } from '../../lib/attributes.js'

const handler = async (): Promise<object> => ({})
const converted = { params: { id: 'int', day: 'date', state: { enum: ['a', 'b'] } } } as const satisfies RouteAttributes

export function valid (app: FastifyInstance): void {
  const config: RouteAttributes = {
    template: 'home',
    cache: { maxAge: '1 hour', etag: async () => 'x' },
    security: 'true',
    isGranted: ['A', { attribute: 'B' }],
    links: [{ rel: 'next', href: '/' }]
  }
  app.get('/a', { config }, handler)
  app.get('/b', { config: { template: 'home', cache: { maxAge: '1 hour', etag: async () => 'x' }, isGranted: ['A', { attribute: 'B' }] } }, handler)
  app.get('/b/:id', { config: { params: { id: 'int' } } }, handler)
  app.get('/c/:id', { config: { params: { id: { enum: ['a', 'b'] } } } }, handler)
  app.get('/e', { config: { cache: { etag: (request: FastifyRequest<{ Params: { id: number } }>) => String(request.params.id) } } }, handler)
  app.get<{ Params: ConvertedParams<typeof converted> }>('/f/:id/:day/:state', { config: converted }, async ({ params }) => {
    const id: number = params.id
    const day: Date = params.day
    const state: 'a' | 'b' = params.state
    return { id, day, state }
  })
}

export function mistyped (app: FastifyInstance): void {
  // @ts-expect-error the name of a template is a string
  app.get('/a', { config: { template: 3 } }, handler)
  // @ts-expect-error a duration
  app.get('/a', { config: { cache: { maxAge: true } } }, handler)
  // @ts-expect-error a list
  app.get('/a', { config: { cache: { vary: 'Accept' } } }, handler)
  // @ts-expect-error the tag is a string
  app.get('/a', { config: { cache: { etag: () => 3 } } }, handler)
  // @ts-expect-error no converter has this name
  app.get('/a', { config: { params: { id: 'itn' } } }, handler)
  // @ts-expect-error a list
  app.get('/a', { config: { params: { id: { enum: 'a' } } } }, handler)
  // @ts-expect-error an expression is a string
  app.get('/a', { config: { security: true } }, handler)
  // @ts-expect-error the name is "attribute"
  app.get('/a', { config: { isGranted: { role: 'A' } } }, handler)
  // @ts-expect-error the address is missing
  app.get('/a', { config: { links: [{ rel: 'next' }] } }, handler)
  // @ts-expect-error also in the long form
  app.route({ method: 'GET', url: '/a', config: { template: 3 }, handler })
  // @ts-expect-error also where types of the request are given
  app.get<{ Params: unknown }>('/a', { config: { tempalte: 'home' } }, handler)
  // @ts-expect-error an unknown attribute
  const unknown = { tempalte: 'home' } satisfies RouteAttributes
  app.get('/a', { config: unknown }, handler)
  app.get<{ Params: ConvertedParams<{ params: { id: 'int' } }> }>('/a/:id', { config: { params: { id: 'int' } } }, async ({ params }) => {
    // @ts-expect-error a number
    const id: string = params.id
    return id
  })
}
