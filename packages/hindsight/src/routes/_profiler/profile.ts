import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { expandProfile, panelsOf } from '../../parts/read.js'
import type { Criteria } from '../../store/criteria.js'
import { isSuccess, type Profile, type ProfileSummary } from '../../store/profile.js'
import type { Profiler } from '../../store/profiler.js'
import {
  BadFieldError, baseOf, formatOf, formOf, formTokenOf, NotAvailableError, profileOf, routeOptions, sendFile, sendPage,
  sourceOf, TokenNotFoundError, tokenOf, type Fields
} from './responses.js'

const BadChoiceError = createError('HINDSIGHT_BAD_CHOICE',
  'Select two profiles to compare them, %s selected: /_profiler/compare?profile=3fa94c&profile=0b11e2.', 400)

const MAX_CHILDREN = 20
/** Profiles that begin before one and are stored after it. */
const MAX_NEAR = 20

/** One profile: panels, its request in other formats, comparisons, and the form that pins it. */
export default async function profileRoutes (app: FastifyInstance): Promise<void> {
  app.get('/:token', routeOptions(app, '_profiler'), showProfile)
  for (const suffix of ['', '.json']) {
    app.get(`/:token/differences${suffix}`, routeOptions(app, '_profiler_differences'), sendDifferences)
  }
  app.get('/:token/as/:format', routeOptions(app, '_profiler_as'), sendAs)
  app.get('/compare', routeOptions(app, '_profiler_compare_chosen'), compareChosen)
  app.get('/:token/compare/:other', routeOptions(app, '_profiler_compare'), compareTwo)
  app.post('/:token/pin', routeOptions(app, '_profiler_pin'), async function pinProfile (request, reply) {
    const { pinned } = await formOf(request)
    const token = tokenOf(request)
    if (pinned !== '1' && pinned !== '0') throw new BadFieldError('pinned', 'it is neither 1 nor 0')
    if (!await app.hindsight.profiler.pin(token, pinned === '1')) throw new TokenNotFoundError(token)
    return reply.redirect(`${baseOf(request)}/${token}`, 303)
  })
}

async function showProfile (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { editor, debug, profiler, parts } = request.server.hindsight
  const query = request.query as Fields
  const profile = await profileOf(request)
  const { token } = profile
  const { FIRST_PANEL, profilePage } = await import('../../reading/pages/profile.js')
  const format = formatOf(request, reply)
  const { renderDifferences, successOf } = await import('../../reading/compare/last-success.js')
  if (format === 'markdown') {
    const { markdownOf } = await import('../../reading/profile-markdown.js')
    const text = await markdownOf(sourceOf(request), profile, query.part, parts)
    return reply.type('text/markdown; charset=utf-8').send(text)
  }
  const panels = panelsOf(parts, profile)
  const name = String(query.panel ?? FIRST_PANEL)
  const panel = panels.find((part) => part.name === name)
  if (panel === undefined) {
    const names = panels.map(({ name }) => name).join(', ')
    throw new NotAvailableError(`Panel "${name}" was not found; this profile has: ${names}.`)
  }
  if (format === 'json') return profile
  const find = async (criteria: Criteria, limit = 1): Promise<ProfileSummary[]> =>
    (await profiler.search({ criteria, limit })).profiles
  // A profile of an application's own store may have an invalid time, by which no success can be found.
  const isDated = !Number.isNaN(Date.parse(profile.time))
  const showsDifferences = isDated && panel.name === FIRST_PANEL
  const [[summary], [parent = null], children, success, beside] = await Promise.all([
    find({ token }),
    profile.parent === undefined ? [] : find({ token: profile.parent }),
    find({ parent: token }, MAX_CHILDREN),
    showsDifferences ? successOf(sourceOf(request), profile, parts) : null,
    isDated ? neighbors(profile, profiler) : {}
  ])
  const formToken = await formTokenOf(request)
  const { coverageForm } = await import('../../reading/pages/coverage.js')
  const view = {
    formToken,
    pinned: summary?.pinned === true,
    parent,
    children,
    ...beside,
    parts,
    differences: success !== null && [
      renderDifferences(success, baseOf(request), debug),
      debug && !success.isOfJob && !isSuccess(profile) && coverageForm(profile, baseOf(request), formToken)
    ],
    query,
    editor
  }
  const shown = await expandProfile(profile, query, request.server.hindsight)
  return await sendPage(request, reply, (options) => profilePage(shown, panel, { ...options, ...view }))
}

/** The profiles that were stored before and after one. A search by position is quick, one by time is not. */
async function neighbors ({ token, time }: Profile, profiler: Profiler): Promise<{ older?: string, newer?: string }> {
  const criteria = { until: Date.parse(time) }
  const { profiles } = await profiler.search({ criteria, limit: MAX_NEAR })
  const place = profiles.findIndex((one) => one.token === token)
  if (place === -1) return {}
  const { next } = await profiler.search({ criteria, limit: place + 1 })
  const { profiles: later } = await profiler.search({ after: next ?? '0', limit: 2, sort: 'time' })
  if (next === null && later[0]?.token !== token) return {}
  if (next === null) return tokensOf(undefined, later[1])
  const { profiles: [older] } = await profiler.search({ cursor: next, limit: 1 })
  return tokensOf(older, later[0])
}

function tokensOf (older?: ProfileSummary, newer?: ProfileSummary): { older?: string, newer?: string } {
  return { ...older && { older: older.token }, ...newer && { newer: newer.token } }
}

/** Sends how a request differs from the last success of its route: as a part of other pages, or as JSON. */
async function sendDifferences (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { debug, parts } = request.server.hindsight
  const profile = await profileOf(request)
  const { lastSuccess, renderDifferences } = await import('../../reading/compare/last-success.js')
  const found = await lastSuccess(sourceOf(request), profile, parts)
  if (formatOf(request, reply) === 'json') {
    const { summary = null, differences = [] } = found ?? {}
    return { token: profile.token, lastSuccess: summary, differences }
  }
  return reply.type('text/html; charset=utf-8').send(String(renderDifferences(found, baseOf(request), debug)))
}

async function sendAs (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { format } = request.params as { format: string }
  const { writeAs } = await import('../../reading/formats/formats.js')
  const { file, text } = writeAs(format, await profileOf(request))
  return sendFile(reply, file, 'text/plain; charset=utf-8', text)
}

async function compareChosen (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { profile } = request.query as { profile?: unknown }
  const tokens = [profile ?? []].flat().map(String)
  const [one = '', other = ''] = tokens
  if (tokens.length !== 2) throw new BadChoiceError(tokens.length === 1 ? 'one was' : `${tokens.length} were`)
  const [a, b] = [await profileOf(request, one), await profileOf(request, other)]
  const [older, newer] = a.time <= b.time ? [a, b] : [b, a]
  return reply.redirect(`${baseOf(request)}/${older.token}/compare/${newer.token}`, 302)
}

async function compareTwo (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { compareProfiles } = await import('../../reading/compare/compare.js')
  const [a, b] = await Promise.all([profileOf(request), profileOf(request, tokenOf(request, 'other'))])
  const comparison = compareProfiles(a, b, request.server.hindsight.parts)
  if (formatOf(request, reply) === 'json') return comparison
  const { comparePage } = await import('../../reading/pages/compare.js')
  return await sendPage(request, reply, (options) => comparePage(comparison, options))
}
