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
    /** The name of the template that renders the object. */
    template?: string
  }
}

type Render = (template: string, data: object) => Promise<unknown>

// The forms in which engines name a file: after a colon, in quotes, or as a path.
const FILE_IN_MESSAGE = [
  /: ['"`]?([^\n]+?)['"`]?$/m, /['"`]([^'"`\n]+)['"`]/, /((?:\/|[A-Za-z]:\\)[^'"\n]+)/, /(\S*[/\\]\S+)/
]

/** Selects the template of the route, which renders the plain object that the handler returns. */
export const template = listener('kernel.controller', 'template', (
  app, { template: { propertyName = 'view' } = {} }: TemplateOptions
) => {
  const decorator = `${propertyName}Async`
  const routes: Array<{ name: string, template: string, scope: FastifyInstance }> = []

  app.addHook('onRoute', function renderRoute (this: FastifyInstance, route) {
    const { template } = route.config ?? {}
    if (template === undefined) return
    routes.push({ name: routeName(route), template, scope: this })
    route.preSerialization = [...[route.preSerialization ?? []].flat(), renderTemplate]
  })
  // The engine may be registered after the route.
  app.addHook('onReady', function checkEngine (done) {
    const missing = routes.find(({ scope }) => !scope.hasReplyDecorator(decorator))
    if (missing === undefined) return done()
    const name = propertyName === 'view' ? '' : ` with propertyName "${propertyName}"`
    const hint = `register @fastify/view${name} in the route's scope or above it`
    const problem = `config.template is "${missing.template}", but there is no reply.${decorator}()`
    done(new Error(`Route "${missing.name}": ${problem}: ${hint}`))
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
    const duration = Math.round((performance.now() - startedAt) * 1000) / 1000
    state.collect('template', { name: state.template, duration, variables: Object.keys(payload) })
    // Fastify has set the type of the object, JSON.
    reply.type('text/html; charset=utf-8').serializer(String)
    return markup
  }
})

async function rendered (
  reply: Record<string, Render>, decorator: string, name: string, data: object
): Promise<unknown> {
  try {
    return await (reply[decorator] as Render)(name, data)
  } catch (error) {
    const path = missingFile(error, name)
    if (path === null) throw error
    throw new TemplateNotFoundError(`Unable to find template "${name}" (looked for ${path}).`, { cause: error })
  }
}

/**
 * The path at which an engine did not find the template itself; null for other errors, also of files that it includes.
 */
function missingFile (error: unknown, template: string): string | null {
  const { code, path, message = '' } = error as { code?: unknown, path?: unknown, message?: string }
  const isMissing = code === 'ENOENT' ||
    /(?:could not|cannot|failed to|unable to) (?:find|resolve|look ?up)|not found/i.test(message)
  if (!isMissing) return null
  const files = typeof path === 'string' ? [path] : FILE_IN_MESSAGE.flatMap((form) => form.exec(message)?.[1] ?? [])
  const file = files.find((found) => basename(found).startsWith(basename(template, extname(template))))
  if (file === undefined) return null
  // Some engines name the template as the route does, relative to a folder of theirs.
  return file === template || file === template + extname(file) ? file : resolve(file)
}

function isPlain (payload: unknown): payload is object {
  if (typeof payload !== 'object' || payload === null) return false
  const prototype: unknown = Object.getPrototypeOf(payload)
  return prototype === Object.prototype || prototype === null
}
