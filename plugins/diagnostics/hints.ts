import type { FastifyRequest } from 'fastify'
import { pathnameOf } from '../kernel/origin.js'
import { stateOf } from '../kernel/request-state.js'
import type { Hint } from './report.js'

const PASTEABLE_PATH = /^(?:\/[\w.~-]+)+$/

/** Remarks that help with a failure; none where none is sure to be right. */
export function hintsFor (request: FastifyRequest, status: number): Hint[] {
  const { raisedBy } = stateOf(request)
  if (status !== 404 || raisedBy?.listener !== 'router') return []
  const path = pathnameOf(request)
  const { routeTable } = request.server
  if (path === '/' && !routeTable.own().some(({ pattern }) => pattern === '/')) {
    return [{
      title: 'Welcome to Hindsight',
      text: 'The service runs, and this page is what it shows whenever a request fails: here, because nothing answers at / yet. ' +
        'Every request leaves a profile, listed at /_profiler/. To answer this one, save these lines as routes/home.ts:',
      code: routeCode(request.method, '/')
    }]
  }
  if (!PASTEABLE_PATH.test(path)) return []
  return [{
    title: 'Is a route missing?',
    text: `No file in routes/ declares ${path}. This one would:`,
    code: routeCode(request.method, path)
  }]
}

function routeCode (method: string, path: string): string {
  const shorthand = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method) ? method.toLowerCase() : 'all'
  return `import type { FastifyInstance } from 'fastify'

export default async function routes (app: FastifyInstance) {
  app.${shorthand}('${path}', async () => ({ hello: 'world' }))
}
`
}
