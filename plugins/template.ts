import { basename, extname, resolve } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TemplateNotFoundError } from '../lib/http/http-errors.js'
import { listener } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { attributesOf, notDeclared, ofDiagnosticHandler } from '../lib/routing/attributes.js'
import { routeName } from '../lib/routing/route-table.js'

export interface TemplateOptions {
  /** How `config.template` is rendered: by the @fastify/view that the application registers. */
  template?: {
    /** The `propertyName` that @fastify/view was registered with; `view` by default. */
    propertyName?: string
  }
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** The name of the template that an object is rendered with. */
    template?: string
  }
}

type Render = (template: string, data: object) => Promise<unknown>

/** Remembers the template of the route; the plain object that its handler gives is rendered with it. */
export const template = listener('kernel.controller', 'template', (app, { template: { propertyName = 'view' } = {} }: TemplateOptions) => {
  const decorator = `${propertyName}Async`
  const routes: Array<{ name: string, template: string, scope: FastifyInstance }> = []

  app.addHook('onRoute', function renderRoute (this: FastifyInstance, route) {
    const { config: { template } = {}, preSerialization = [] } = route
    if (template === undefined) return
    routes.push({ name: routeName(route), template, scope: this })
    route.preSerialization = [...typeof preSerialization === 'function' ? [preSerialization] : preSerialization, renderTemplate]
  })
  app.addHook('onReady', function checkEngine (done) {
    // Whoever brings the engine may do so behind the route.
    const missing = routes.find(({ scope }) => !scope.hasReplyDecorator(decorator))
    done(missing && new Error(`Route "${missing.name}": config.template is "${missing.template}", but there is no reply.${decorator}(): register @fastify/view${propertyName === 'view' ? '' : ` with propertyName "${propertyName}"`} in the route's scope or above it`))
  })

  return (request) => {
    const name = attributesOf(request)?.template
    if (name === undefined) return notDeclared
    const state = stateOf(request)
    if (state.failed) return ofDiagnosticHandler
    state.template = name
  }

  async function renderTemplate (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
    const state = stateOf(request)
    if (state.template === undefined || state.failed || !isPlain(payload)) return payload
    const startedAt = performance.now()
    const markup = await rendered(reply as unknown as Record<string, Render>, decorator, state.template, payload)
    if (state.observed) {
      const duration = Math.round((performance.now() - startedAt) * 1000) / 1000
      state.collect('template', { name: state.template, duration, variables: Object.keys(payload) })
    }
    // Fastify has taken the object for JSON.
    reply.type('text/html; charset=utf-8').serializer(String)
    return markup
  }
})

async function rendered (reply: Record<string, Render>, decorator: string, name: string, data: object): Promise<unknown> {
  try {
    return await (reply[decorator] as Render)(name, data)
  } catch (error) {
    const place = missingAt(error, name)
    if (place === null) throw error
    throw new TemplateNotFoundError(`Unable to find template "${name}" (looked for ${place}).`, { cause: error })
  }
}

// Each engine has words of its own for a file that is not there; a file that the template itself includes is another matter.
function missingAt (error: unknown, template: string): string | null {
  const { code, path, message = '' } = error as { code?: unknown, path?: unknown, message?: string }
  const isMissing = code === 'ENOENT' || /(?:could not|cannot|failed to|unable to) (?:find|resolve|look ?up)|not found/i.test(message)
  const name = basename(template, extname(template))
  if (!isMissing) return null
  if (typeof path === 'string') return basename(path).startsWith(name) ? resolve(path) : null
  const place = NAMED.map((form) => form.exec(message)?.[1]).find((one) => one !== undefined && basename(one).startsWith(name))
  if (place === undefined) return null
  // An engine with a root of its own may name the template as the route does: from where, only the engine knows.
  return place === template || place === template + extname(place) ? place : resolve(place)
}

// How messages name a file, the whole of it: behind a colon, in quotes, or as a word.
const NAMED = [/: ['"`]?([^\n]+?)['"`]?$/m, /['"`]([^'"`\n]+)['"`]/, /((?:\/|[A-Za-z]:\\)[^'"\n]+)/, /(\S*[/\\]\S+)/]

function isPlain (payload: unknown): payload is object {
  if (typeof payload !== 'object' || payload === null) return false
  const prototype: unknown = Object.getPrototypeOf(payload)
  return prototype === Object.prototype || prototype === null
}
