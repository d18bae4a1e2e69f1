import { Readable } from 'node:stream'
import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import type { follow } from '../../lib/profiler/follow.js'
import { readFilter } from '../../lib/profiler/search-query.js'
import { isInvalidCursor } from '../../lib/profiler/storage/storage.js'
import { routeConfig } from './answer.js'

const TooManyFollowersError = createError('HINDSIGHT_TOO_MANY_FOLLOWERS', 'At most %s clients may follow the stream at once.', 503)

const MAX_FOLLOWERS = 50

/** The summaries of profiles as they come, as server-sent events (HTML Standard, section 9.2). */
export default async function streamRoutes (app: FastifyInstance): Promise<void> {
  const followers = new Set<AbortController>()
  app.addHook('preClose', async function endStreams () {
    for (const follower of followers) follower.abort()
  })

  app.get('/stream', { config: routeConfig(app, '_profiler_stream') }, async function streamProfiles (request, reply) {
    const criteria = readFilter(request.query as Record<string, unknown>)
    if (followers.size >= MAX_FOLLOWERS) throw new TooManyFollowersError(MAX_FOLLOWERS)
    const follower = new AbortController()
    followers.add(follower)
    reply.raw.once('close', () => follower.abort())
    const after = await positionOf(app, request.headers['last-event-id'])
    const events = Readable.from(eventsOf(app, { criteria, after, signal: follower.signal }))
    events.once('close', () => {
      follower.abort()
      followers.delete(follower)
    })
    // A proxy that collects the answer would hold the events back, and a connection that is kept behind them the end of the service.
    return reply.type('text/event-stream; charset=utf-8').headers({ 'x-accel-buffering': 'no', connection: 'close' }).send(events)
  })
}

// One that comes back goes on where it was cut off, as far as the store still knows that place.
async function positionOf ({ hindsight: { profiler } }: FastifyInstance, lastEventId: unknown): Promise<string> {
  if (typeof lastEventId === 'string' && lastEventId !== '') {
    try {
      await profiler.search({ limit: 1, after: lastEventId })
      return lastEventId
    } catch (error) {
      if (!isInvalidCursor(error)) throw error
    }
  }
  return (await profiler.search({ limit: 1 })).head
}

async function * eventsOf ({ hindsight: { profiler } }: FastifyInstance, options: Parameters<typeof follow>[1]): AsyncGenerator<string> {
  const { follow } = await import('../../lib/profiler/follow.js')
  // Who is cut off before there was news comes back to this place.
  yield `retry: 2000\nid: ${options.after}\n\n`
  for await (const { profiles, head } of follow(profiler, options)) {
    const texts = profiles.map((summary) => `event: profile\ndata: ${JSON.stringify(summary)}\n\n`)
    // Without news it is only a sign of life; the place is told when all that lies ahead of it has been.
    yield profiles.length === 0 ? ': nothing new\n\n' : `${texts.slice(0, -1).join('')}id: ${head}\n${texts.at(-1)}`
  }
}
