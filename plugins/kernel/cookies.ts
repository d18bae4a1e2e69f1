import fastifyCookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { host, runHooks, type CaughtHook } from './hosting.js'
import { provide } from './provided-names.js'
import { stateOf, type RequestState } from './request-state.js'

const SETS_COOKIES = new Set(['cookie', 'setCookie', 'clearCookie'])

const NONE: Readonly<Record<string, string | undefined>> = Object.freeze({})

/** Sets the cookies of a response, as far as there are any. */
export type WriteCookies = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => undefined | Promise<void>

/**
 * Hosts @fastify/cookie. It would parse the header of each request and make room for cookies to set: most requests have no use for either,
 * so that is done when somebody asks for a cookie that came, or sets one. Gives what sets the cookies of a response.
 */
export async function hostCookies (app: FastifyInstance): Promise<WriteCookies> {
  const hooks = await host(app, fastifyCookie as never, {}, { name: '@fastify/cookie', withhold: ['cookies'], makesRoom: true, replyMethod: writtenLate })
  const parse = hooks.get('onRequest') ?? []
  const write = hooks.get('onSend') ?? []
  const cookiesOf = (request: FastifyRequest): Record<string, string | undefined> | null => parsed(stateOf(request), request).cookies
  app.hindsight.cookiesOf = (request) => {
    const state = stateOf(request)
    // Where none came, nothing has to be parsed to know it.
    return !state.cookiesParsed && request.raw.headers.cookie === undefined ? NONE : cookiesOf(request) ?? NONE
  }
  provide(app, 'request', 'cookies', {
    getter (this: FastifyRequest) { return cookiesOf(this) },
    setter (this: FastifyRequest, value: RequestState['cookies']) {
      const state = parsed(stateOf(this), this)
      state.cookies = value
      state.cookiesParsed = true
    }
  })
  return writeCookies

  // Ahead of the slot that they begin at there are none.
  function parsed (state: RequestState, request: FastifyRequest): RequestState {
    if (!state.cookiesParsed && state.cookieReply !== null) {
      state.cookiesParsed = true
      // What the package may read of a request, and where it writes: on the request itself the application may have something of that name. An object with
      // the request as its prototype would give that a shape of its own in V8, and each access to it from there on would be slow.
      const view: Pick<FastifyRequest, 'raw' | 'headers' | 'server'> & Pick<RequestState, 'cookies'> = { raw: request.raw, headers: request.headers, server: request.server, cookies: null }
      runHooks(parse, view, state.cookieReply)
      state.cookies = view.cookies
    }
    return state
  }

  function writeCookies (request: FastifyRequest, reply: FastifyReply, payload: unknown): undefined | Promise<void> {
    const state = stateOf(request)
    state.cookiesWritten = true
    // Whoever sets a cookie has looked at those that came.
    return state.cookiesParsed ? runHooks(write, request, reply, payload) : undefined
  }

  // What is set behind its own hook the package writes at once, where that has run.
  function writtenLate (method: string, change: CaughtHook): CaughtHook {
    return function watchedCookie (this: FastifyReply, ...args) {
      const result = change.apply(this, args)
      const { recorder, cookiesWritten, isHandling } = stateOf(this.request)
      if (SETS_COOKIES.has(method) && recorder?.isOutside === true) {
        recorder.trail?.note({ name: 'set-cookie', from: undefined, to: undefined, after: recorder.recorded, handling: isHandling, via: `reply.${method}`, cookie: String(args[0]) }, watchedCookie)
      }
      if (cookiesWritten) writeCookies(this.request, this, null)
      return result
    }
  }
}
