import { extname } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { methodOf } from '../http/method-override.js'
import { pathnameOf } from '../http/request-target.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { nearMisses, type NearMiss } from '../routing/near-misses.js'
import type { RouteTable } from '../routing/route-table.js'
import { refusalOf } from './refusal.js'
import type { Hint } from './report.js'
import { contextOf } from '../security/context.js'
import { routeCode } from './route-code.js'
import { splitStack, stackFrames } from './stack-frame.js'
import { messageOf, read } from './thrown-value.js'

// What Fastify says by its code, and the option that decides it.
const OPTION_OF_CODE: Readonly<Record<string, Omit<Hint, 'code'> & { code?: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: {
    title: 'The body is larger than allowed',
    text: 'Fastify takes bodies of up to bodyLimit bytes, 1 MiB by default; a route may have a limit of its own:',
    code: "app.post('/…', { bodyLimit: 10 * 1024 * 1024 }, async (request, reply) => { … })\n"
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    title: 'Nothing reads this media type',
    text: 'Fastify reads application/json and text/plain by itself. Plugins such as @fastify/formbody and @fastify/multipart add others, and so does a parser of your own:',
    code: "app.addContentTypeParser('application/…', { parseAs: 'string' }, (request, body, done) => { done(null, body) })\n"
  },
  FST_ERR_MAX_PARAM_LENGTH: {
    title: 'A parameter of the path is longer than allowed',
    text: 'The router takes parameters of up to routerOptions.maxParamLength characters, 100 by default.'
  }
}

/** What decides a failure that Fastify knows by a code; null where that is not known. */
export function hintOfCode (code: unknown): Hint | null {
  return typeof code === 'string' && Object.hasOwn(OPTION_OF_CODE, code) ? OPTION_OF_CODE[code] ?? null : null
}

/** Remarks that help with a failure; none where none is sure to be right. */
export function hintsFor (request: FastifyRequest, status: number): Hint[] {
  const { raised, raisedBy, reply } = stateOf(request)
  const code = read(raised, 'code')
  const known = hintOfCode(code)
  const refusal = refusalOf(request, reply, status, contextOf(request)?.record ?? null)
  // The sentence names the very limit; what stands here is about all of them.
  if (known !== null) return [refusal === null ? known : { ...known, text: refusal.sentence }]
  if (refusal !== null && refusal.kind !== 'method') return [{ title: 'Why was this refused?', text: refusal.sentence }]
  if (raisedBy?.listener === 'request-validation' && messageOf(raised).startsWith('Untrusted Host ')) {
    return [{ title: 'Is this host yours?', text: 'Requests are taken for the hosts that the option trustedHosts (TRUSTED_HOSTS) names, and for no others.' }]
  }
  if (raisedBy?.listener !== 'router') return []
  return status === 404 ? notFound(request) : status === 405 ? methodNotAllowed(request) : []
}

function notFound (request: FastifyRequest): Hint[] {
  const { routeTable } = servicesOf(request)
  const path = pathnameOf(request)
  if (path === '/' && !routeTable.own().some(({ pattern }) => pattern === '/')) {
    const written = routeCode(methodOf(request), '/', usesTypeScript(routeTable))
    return [{
      title: 'Welcome to Hindsight',
      text: 'The service runs, and this page is what it shows whenever a request fails: here, because nothing answers at / yet. ' +
        'Every request leaves a profile, listed at /_profiler/.' + (written === null ? '' : ` To answer this one, save these lines as routes/home${extension(routeTable)}:`),
      ...(written !== null && { code: written.code })
    }]
  }
  const near = near404(request)
  return [
    ...(near.length === 0 ? [] : [{ title: near.length === 1 ? 'Did you mean this route?' : 'Did you mean one of these routes?', text: near.length === 1 ? 'It is declared, and differs by little.' : 'They are declared, and differ by little.', routes: near.map(told) }]),
    ...missing(request, 'Is a route missing?', `Nothing declares ${methodOf(request)} ${path}.`)
  ]
}

function methodNotAllowed (request: FastifyRequest): Hint[] {
  const method = methodOf(request)
  const routes = near404(request).filter(({ why }) => why.startsWith('the method is '))
  return [
    ...(routes.length === 0 ? [] : [{ title: `The path has routes, but not for ${method}`, text: 'Is the method the one that was meant?', routes: routes.map(told) }]),
    ...missing(request, `Is a route for ${method} missing?`, `Nothing declares ${method} for this path.`)
  ]
}

function near404 (request: FastifyRequest): NearMiss[] {
  const { host = '', 'accept-version': version = '' } = request.headers
  const wanted = { method: methodOf(request), path: pathnameOf(request), host, version: String(version) }
  const { mask } = servicesOf(request)
  return nearMisses(servicesOf(request).routeTable.own(), wanted).map((miss) => ({ ...miss, why: mask.text(miss.why) }))
}

function told ({ methods, pattern, why, option }: NearMiss): NonNullable<Hint['routes']>[number] {
  return { methods, pattern, why: option === null ? why : `${why}; with routerOptions: { ${option} } in Fastify's options it would take this request` }
}

function missing (request: FastifyRequest, title: string, text: string): Hint[] {
  const { routeTable, mask } = servicesOf(request)
  const path = pathnameOf(request)
  // A path that holds a secret is not made a pattern.
  const written = mask.text(path) === path ? routeCode(methodOf(request), path, usesTypeScript(routeTable)) : null
  if (written === null) return []
  return [{ title, text: `${text} This would, as routes/${written.file}${extension(routeTable)} or beside your other routes:`, code: written.code }]
}

function extension (routeTable: RouteTable): string {
  return usesTypeScript(routeTable) ? '.ts' : '.js'
}

const languages = new WeakMap<RouteTable, boolean>()

// In the language of the application's own routes; where there are none, in that of what runs here.
function usesTypeScript (routeTable: RouteTable): boolean {
  const known = languages.get(routeTable)
  if (known !== undefined) return known
  const declared = routeTable.own()[0]?.declaredAt
  if (declared == null) return import.meta.url.endsWith('.ts')
  const frame = stackFrames(splitStack(declared.stack ?? '', declared.message).frames).find(({ own }) => own)
  const typescript = ['.ts', '.mts', '.cts', '.tsx'].includes(extname(frame?.file ?? '.ts'))
  languages.set(routeTable, typescript)
  return typescript
}
