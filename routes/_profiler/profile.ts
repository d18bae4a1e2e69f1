import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Profile } from '../../lib/profiler/profile.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { whileStoreIsThere } from './away.js'
import { sendMarkdown, sendPage, routeConfig, TokenNotFoundError, wantsJson, wantsMarkdown } from './answer.js'
import { canRepeatCpu } from './cpu.js'

const PanelNotFoundError = createError('HINDSIGHT_PANEL_NOT_FOUND', 'Panel "%s" was not found; this profile has: %s.', 404)

const MAX_CHILDREN = 20

/** One profile, as a page of panels, as JSON or as Markdown. */
export default async function profileRoutes (app: FastifyInstance): Promise<void> {
  app.get('/:token', { config: routeConfig(app, '_profiler') }, async (request, reply) => await whileStoreIsThere(request, reply, () => showProfile(request, reply)))
}

async function showProfile (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { server: app } = request
  const segment = (request.params as { token: string }).token
  const token = segment.replace(/\.(?:json|md)$/, '')
  const profile = TOKEN_PATTERN.test(token) ? await app.hindsight.profiler.find(token) : undefined
  if (profile === undefined) throw new TokenNotFoundError(token)
  const query = request.query as Record<string, unknown>
  const { panel: name } = query
  const { firstPanel, panelsOf } = await import('../../lib/profiler/panels/index.js')
  const known = panelsOf(profile)
  const panel = name === undefined ? firstPanel(profile) : known.find((one) => one.name === name)
  if (panel === undefined) throw new PanelNotFoundError(String(name), known.map((one) => one.name).join(', '))
  // A form that the path names is what the request accepts, and does not vary.
  if (segment.endsWith('.json')) return profile
  if (segment.endsWith('.md')) return await sendAsMarkdown(reply, profile)
  if (wantsJson(request, reply)) return profile
  if (wantsMarkdown(request, reply)) return await sendAsMarkdown(reply, profile)
  const [{ profiles: [summary] }, { profiles: children }] = await Promise.all([
    app.hindsight.profiler.search({ criteria: { token }, limit: 1 }),
    app.hindsight.profiler.search({ criteria: { parent: token }, limit: MAX_CHILDREN })
  ])
  const pinned = summary?.pinned === true
  // The routes also stand without the lifecycle, in applications that only read a store.
  const { editor, debug: replayable } = app.hasDecorator('hindsight') ? app.hindsight : { editor: null, debug: false }
  const repeatsCpu = app.hasDecorator('hindsight') && canRepeatCpu(app)
  const { profilePage } = await import('../../lib/profiler/pages/profile.js')
  return await sendPage(request, reply, (options) => profilePage(profile, panel, { ...options, pinned, replayable, children, query, editor, repeatsCpu }))
}

async function sendAsMarkdown (reply: FastifyReply, profile: Profile): Promise<FastifyReply> {
  const { profileMarkdown } = await import('../../lib/profiler/markdown/profile-markdown.js')
  return sendMarkdown(reply, profileMarkdown(profile))
}
