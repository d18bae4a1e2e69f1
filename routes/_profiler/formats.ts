import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { routeConfig } from './answer.js'
import { whileStoreIsThere } from './away.js'
import { profileOf } from './find.js'

const FormatNotFoundError = createError('HINDSIGHT_FORMAT_NOT_FOUND', 'A profile cannot be had as "%s"; there are: %s.', 404)
export const NotSendableRequestError = createError('HINDSIGHT_NOT_SENDABLE', 'The request of profile "%s" cannot be sent again: %s', 409)
const BadAppError = createError('HINDSIGHT_BAD_FIELD', 'Invalid "app": it is what the test imports the application by, given once, such as ./app.js.', 400)

const MAX_APP = 500

/** The request of a profile as a text to keep: a command, source, an archive, a test. */
export default async function formatRoutes (app: FastifyInstance): Promise<void> {
  app.get('/:token/as/:format', { config: routeConfig(app, '_profiler_as') }, async (request, reply) => await whileStoreIsThere(request, reply, () => sendAs(request, reply)))
}

async function sendAs (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { token, format: name } = request.params as { token: string, format: string }
  const { app } = request.query as { app?: unknown }
  const { FORMATS, writeAs } = await import('../../lib/profiler/formats/formats.js')
  const { NotSendableError } = await import('../../lib/profiler/replay/stored-request.js')
  const format = FORMATS.find((one) => one.name === name)
  if (format === undefined) throw new FormatNotFoundError(name, FORMATS.map(({ name }) => name).join(', '))
  if (app !== undefined && (typeof app !== 'string' || app === '' || app.length > MAX_APP)) throw new BadAppError()
  const profile = await profileOf(request.server, token)
  try {
    const { file, type, text } = writeAs(format, profile, app === undefined ? {} : { app })
    // A browser shows none of it: it is source, whatever it may look like.
    return reply.headers({ 'content-disposition': `attachment; filename="${file}"`, 'x-content-type-options': 'nosniff' }).type(type).send(text)
  } catch (error) {
    if (error instanceof NotSendableError) throw new NotSendableRequestError(token, error.message)
    throw error
  }
}
