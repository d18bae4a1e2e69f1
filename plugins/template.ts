import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { routeName } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { template as templatePart } from '../lib/parts/listeners.js'
import { defineListener, notConfigured, ofDiagnosticHandler } from '../lib/listener.js'

type Render = (template: string, data: object) => Promise<unknown>

/** Selects the template of the route, which renders the plain object that the handler returns. */
export const template = defineListener('kernel.controller', 'template', (
  app, { template: { propertyName = 'view' } = {} }
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

  if (app.hindsight.recorder === null) return 'routes render their templates in a hook of their own'
  return (request) => {
    const { attributes, failed } = stateOf(request)
    if (attributes?.template === undefined) return notConfigured
    if (failed) return ofDiagnosticHandler
  }

  async function renderTemplate (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
    const { attributes, failed, trace } = stateOf(request)
    const name = attributes?.template
    if (name === undefined || failed || !isPlain(payload)) return payload
    const startedAt = performance.now()
    const markup = await (reply as unknown as Record<string, Render>)[decorator]?.(name, payload)
    const duration = Math.round((performance.now() - startedAt) * 1_000) / 1_000
    trace.collect(templatePart, { name, duration, variables: Object.keys(payload) })
    // Fastify has set the type of the object, JSON.
    reply.type('text/html; charset=utf-8').serializer(String)
    return markup
  }
})

function isPlain (payload: unknown): payload is object {
  if (typeof payload !== 'object' || payload === null) return false
  const prototype: unknown = Object.getPrototypeOf(payload)
  return prototype === Object.prototype || prototype === null
}
