import createError from '@fastify/error'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MASKED } from '../../lib/mask/parts.js'
import { CPU_HEADER } from '../../lib/profiler/cpu/record.js'
import { dataOf } from '../../lib/profiler/panels/panel.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { baseOf, routeConfig, TokenNotFoundError } from './answer.js'
import { fieldsOf, readForms } from './forms.js'

const NoCpuProfileError = createError('HINDSIGHT_NO_CPU_PROFILE', 'Profile "%s" has no CPU profile: %s', 404)
const NotRepeatableError = createError('HINDSIGHT_NOT_REPEATABLE', 'The request cannot be repeated: %s.', 409)
const RepeatTimeoutError = createError('HINDSIGHT_REPEAT_TIMEOUT', 'The repeated request was not answered within %s seconds.', 504)

/** Milliseconds: more than a recording may take. */
const PATIENCE = 45_000
/** Of the connection that brought them, or set anew. */
const NOT_REPEATED = new Set(['connection', 'content-length', 'transfer-encoding', 'upgrade', 'expect', 'keep-alive', 'te', 'sec-fetch-site'])

/** The CPU profile of a request as a file, and in debug mode the request once more with one. */
export default async function cpuRoutes (app: FastifyInstance): Promise<void> {
  app.get('/:token/cpu', { config: routeConfig(app, '_profiler_cpu') }, async function sendCpuProfile (request, reply) {
    const { token, collectors: { cpu } } = await profileOf(request)
    const { readCpuRecord, refusalOf } = await import('../../lib/profiler/cpu/record.js')
    const record = readCpuRecord(cpu)
    if (record === null) throw new NoCpuProfileError(token, refusalOf(cpu) ?? 'none was asked for.')
    const { cpuProfileOf } = await import('../../lib/profiler/cpu/record.js')
    return reply.header('content-disposition', `attachment; filename="${token}.cpuprofile"`).type('application/json; charset=utf-8').send(JSON.stringify(cpuProfileOf(record)))
  })

  // The routes also stand without the lifecycle, in applications that only read a store.
  if (!app.hasDecorator('hindsight') || !canRepeatCpu(app)) return
  await app.register(async function repeatRoutes (app) {
    await readForms(app)
    app.post('/:token/cpu', { config: routeConfig(app, '_profiler_cpu_repeat') }, async function repeatWithCpu (request, reply) {
      fieldsOf(request)
      return reply.redirect(`${baseOf(request)}/${await repeat(request, await profileOf(request))}?panel=cpu`, 303)
    })
  })
}

/** Whether requests can be repeated with a CPU profile: where they may ask for one without a signature. */
export function canRepeatCpu (app: FastifyInstance): boolean {
  return app.hindsight.debug
}

async function profileOf (request: FastifyRequest): Promise<Profile> {
  const { token } = request.params as { token: string }
  const profile = TOKEN_PATTERN.test(token) ? await request.server.hindsight.profiler.find(token) : undefined
  if (profile === undefined) throw new TokenNotFoundError(token)
  return profile
}

async function repeat (request: FastifyRequest, profile: Profile): Promise<string> {
  const { method, url } = profile
  if (method !== 'GET' && method !== 'HEAD') throw new NotRepeatableError(`${method} may change something, GET and HEAD do not`)
  if (url.includes(MASKED) || url.includes(encodeURIComponent(MASKED))) throw new NotRepeatableError('its URL has values that are masked')
  const target = /^https?:\/\/[^/?#]*(\/.*)$/i.exec(url)?.[1]
  if (target === undefined) throw new NotRepeatableError('its URL has no path')
  const { LateAnswerError, send } = await import('../../lib/profiler/resend/send.js')
  const token = await send(request.server.hindsight.app, {
    method,
    url: target,
    headers: headersOf(request, profile),
    remoteAddress: request.raw.socket.remoteAddress ?? '127.0.0.1'
  }, PATIENCE).catch((error: unknown) => {
    throw error instanceof LateAnswerError ? new RepeatTimeoutError(PATIENCE / 1000) : error
  })
  if (token === undefined) throw new NotRepeatableError('what came back leaves no profile')
  return token
}

// What is masked is not known any more; who asks brings cookies and credentials for the same host.
function headersOf ({ headers }: FastifyRequest, profile: Profile): Record<string, string | string[]> {
  const { headers: stored } = dataOf(profile, 'request')
  const kept = Object.entries(typeof stored === 'object' && stored !== null ? stored : {})
    .filter((header): header is [string, string | string[]] => [header[1]].flat().every((value) => typeof value === 'string' && !value.includes(MASKED)))
    .filter(([name]) => !NOT_REPEATED.has(name) && !name.startsWith(':'))
  return {
    ...Object.fromEntries(kept),
    ...(headers.cookie !== undefined && { cookie: headers.cookie }),
    ...(headers.authorization !== undefined && { authorization: headers.authorization }),
    [CPU_HEADER]: '1'
  }
}
