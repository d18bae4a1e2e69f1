import type { FastifyReply, FastifyRequest } from 'fastify'
import { escapeMarkdown } from '../../lib/view/markdown.js'
import { sendMarkdown, sendPage, wantsJson, wantsMarkdown } from './answer.js'

/** Answers, or tells which store is away, why, and how many profiles were lost: also to operators, whom no diagnostic page tells it. */
export async function whileStoreIsThere (request: FastifyRequest, reply: FastifyReply, answer: () => Promise<unknown>): Promise<unknown> {
  try {
    return await answer()
  } catch (error) {
    if (!isAway(error)) throw error
    const { counters, lastLoss } = request.server.hindsight.profiler
    request.log.warn({ err: error, channel: 'profiler' }, 'The store of profiles cannot be used')
    reply.code(503)
    if (wantsJson(request, reply)) {
      return reply.type('application/problem+json').send(JSON.stringify({ type: 'about:blank', title: 'Service Unavailable', status: 503, detail: error.message, counters }))
    }
    if (wantsMarkdown(request, reply)) return sendMarkdown(reply, `# 503 Service Unavailable\n\n${escapeMarkdown(error.message)}\n`)
    const { searchPage } = await import('../../lib/profiler/pages/list.js')
    return await sendPage(request, reply, (options) => searchPage({ fields: {}, problem: error.message, counters, lastLoss, profiles: [], next: null, now: Date.now() }, options))
  }
}

function isAway (error: unknown): error is Error {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 503
}
