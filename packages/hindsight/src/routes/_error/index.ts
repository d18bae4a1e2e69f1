import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorRepresentation } from '../../http/requests.js'
import { renderShortError } from '../../error-page/plain-pages.js'
import { routeOptions } from '../_profiler/responses.js'

const ACCEPT_OF: ReadonlyMap<string | undefined, string> = new Map([
  ['json', 'application/json'], ['txt', 'text/plain'], ['md', 'text/markdown'], ['html', 'text/html']
])

/** Shows the error of production in debug mode: `/_error/404`, `/_error/500.json`. */
export default async function errorPreview (app: FastifyInstance): Promise<void> {
  const preview = routeOptions(app, '_preview_error')
  app.get('/:code(^[45]\\d\\d)', preview, show)
  app.get('/:code(^[45]\\d\\d).:format(^[a-z]+)', preview, show)

  async function show (request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { code, format } = request.params as { code: string, format?: string }
    const status = Number(code)
    const as = errorRepresentation(format === undefined ? request.headers.accept : ACCEPT_OF.get(format))
    reply.code(status).headers({ 'content-type': as.contentType, 'x-content-type-options': 'nosniff' })
    if (format === undefined) reply.header('vary', 'Accept')
    return renderShortError(status, as.type)
  }
}
