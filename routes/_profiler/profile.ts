import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readFilter } from '../../lib/profiler/search-query.js'
import type { Profile } from '../../lib/profiler/profile.js'
import {
  BadFieldError, baseOf, fieldsOf, NotSendableRequestError, profileOf, readForms, routeConfig, sendMarkdown, sendPage,
  TokenNotFoundError, tokenOf, wantsJson, wantsMarkdown, type Fields
} from './answer.js'

const PanelNotFoundError =
  createError('HINDSIGHT_PANEL_NOT_FOUND', 'Panel "%s" was not found; this profile has: %s.', 404)
const FormatNotFoundError =
  createError('HINDSIGHT_FORMAT_NOT_FOUND', 'A profile cannot be had as "%s"; there are: %s.', 404)
const NoPreviousError =
  createError('HINDSIGHT_NO_PREVIOUS', 'No profile of the same route is stored that is older than "%s"%s.', 404)
const BadChoiceError = createError('HINDSIGHT_BAD_CHOICE',
  'Two profiles can be compared, %s given: /_profiler/compare?profile=3fa94c&profile=0b11e2.', 400)

const MAX_CHILDREN = 20
const MAX_APP = 500

/** One profile: panels, header history, its request in other formats, comparisons, and the form that pins it. */
export default async function profileRoutes (app: FastifyInstance): Promise<void> {
  const config = (name: string): object => ({ config: routeConfig(app, name) })
  app.get('/:token', config('_profiler'), showProfile)
  app.get('/:token/headers.json', config('_profiler_headers'), async function showHeaderHistory (request) {
    const { headerHistory } = await import('../../lib/profiler/panels/header-history.js')
    const profile = await profileOf(request)
    return { token: profile.token, headers: Object.fromEntries(headerHistory(profile)) }
  })
  app.get('/:token/as/:format', config('_profiler_as'), sendAs)
  app.get('/compare', config('_profiler_compare_chosen'), compareChosen)
  app.get('/:token/compare/previous', config('_profiler_compare_previous'), comparePrevious)
  app.get('/:token/compare/:other', config('_profiler_compare'), compareTwo)
  await readForms(app)
  app.post('/:token/pin', config('_profiler_pin'), async function pinProfile (request, reply) {
    const { pinned, back } = fieldsOf(request)
    const token = tokenOf(request)
    if (pinned !== '1' && pinned !== '0') throw new BadFieldError('pinned', 'it is neither 1 nor 0')
    if (!await app.hindsight.profiler.pin(token, pinned === '1')) throw new TokenNotFoundError(token)
    // Parsed and written again, so that it cannot lead to another page.
    const to = typeof back === 'string' ? `search?${new URLSearchParams(back).toString()}` : token
    return reply.redirect(`${baseOf(request)}/${to}`, 303)
  })
}

async function showProfile (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { hindsight } = request.server
  const segment = tokenOf(request)
  const token = segment.replace(/\.(?:json|md)$/, '')
  const profile = await profileOf(request, token)
  const query = request.query as Fields
  const { firstPanel, panelsOf } = await import('../../lib/profiler/panels/index.js')
  const panels = panelsOf(profile)
  const panel = query.panel === undefined ? firstPanel(profile) : panels.find(({ name }) => name === query.panel)
  if (panel === undefined) throw new PanelNotFoundError(String(query.panel), panels.map(({ name }) => name).join(', '))
  // The suffix decides without `Vary: Accept`.
  if (segment.endsWith('.json')) return profile
  if (segment.endsWith('.md')) return await sendAsMarkdown(reply, profile)
  if (wantsJson(request, reply)) return profile
  if (wantsMarkdown(request, reply)) return await sendAsMarkdown(reply, profile)
  const [{ profiles: [summary] }, { profiles: children }] = await Promise.all([
    hindsight.profiler.search({ criteria: { token }, limit: 1 }),
    hindsight.profiler.search({ criteria: { parent: token }, limit: MAX_CHILDREN })
  ])
  const { editor, debug } = hindsight
  const view = { pinned: summary?.pinned === true, replayable: debug, repeatsCpu: debug, children, query, editor }
  const { profilePage } = await import('../../lib/profiler/pages/profile.js')
  return await sendPage(request, reply, (options) => profilePage(profile, panel, { ...options, ...view }))
}

async function sendAsMarkdown (reply: FastifyReply, profile: Profile): Promise<FastifyReply> {
  const { profileMarkdown } = await import('../../lib/profiler/markdown/profile-markdown.js')
  return sendMarkdown(reply, profileMarkdown(profile))
}

/** Sends the request of a profile as a command, source, an archive or a test. */
async function sendAs (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { format: name } = request.params as { format: string }
  const { app } = request.query as { app?: unknown }
  const { FORMATS, writeAs } = await import('../../lib/profiler/formats/formats.js')
  const { NotSendableError } = await import('../../lib/profiler/replay/stored-request.js')
  const format = FORMATS.find((one) => one.name === name)
  if (format === undefined) throw new FormatNotFoundError(name, FORMATS.map(({ name }) => name).join(', '))
  if (app !== undefined && (typeof app !== 'string' || app === '' || app.length > MAX_APP)) {
    throw new BadFieldError('app', 'it is what the test imports the application by, given once, such as ./app.js')
  }
  const profile = await profileOf(request)
  try {
    const { file, type, text } = writeAs(format, profile, app === undefined ? {} : { app })
    // It is source: a browser must not display it.
    const headers = { 'content-disposition': `attachment; filename="${file}"`, 'x-content-type-options': 'nosniff' }
    return reply.headers(headers).type(type).send(text)
  } catch (error) {
    if (error instanceof NotSendableError) throw new NotSendableRequestError(profile.token, error.message)
    throw error
  }
}

async function compareChosen (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { profile } = request.query as { profile?: unknown }
  const tokens = [profile ?? []].flat().map(String)
  const [one = '', other = ''] = tokens
  if (tokens.length !== 2) throw new BadChoiceError(tokens.length === 1 ? 'one was' : `${tokens.length} were`)
  const { inOrder } = await import('../../lib/profiler/compare/compare.js')
  const [older, newer] = inOrder(await profileOf(request, one), await profileOf(request, other))
  return reply.redirect(`${baseOf(request)}/${older.token}/compare/${newer.token}`, 302)
}

async function comparePrevious (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { profiler } = request.server.hindsight
  const profile = await profileOf(request)
  const criteria = readFilter(request.query as Fields)
  const { previousOf } = await import('../../lib/profiler/compare/previous.js')
  const previous = await previousOf(profile, criteria, (options) => profiler.search(options))
  if (previous === undefined) {
    throw new NoPreviousError(profile.token, Object.keys(criteria).length === 0 ? '' : ' and fits')
  }
  const suffix = wantsJson(request, reply) ? '.json' : ''
  return reply.redirect(`${baseOf(request)}/${previous.token}/compare/${profile.token}${suffix}`, 302)
}

async function compareTwo (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { other } = request.params as { other: string }
  const second = other.replace(/\.json$/, '')
  const { compareProfiles } = await import('../../lib/profiler/compare/compare.js')
  const [a, b] = await Promise.all([profileOf(request), profileOf(request, second)])
  const comparison = compareProfiles(a, b)
  if (second !== other || wantsJson(request, reply)) return comparison
  const { comparePage } = await import('../../lib/profiler/pages/compare.js')
  return await sendPage(request, reply, (options) => comparePage(comparison, options))
}
