import type { FastifyReply, FastifyServerOptions } from 'fastify'
import { pino } from 'pino'
import type { Recorder } from './recorder.js'

/** One form of the application of `application.ts`. */
export interface Variant {
  /** Options of Fastify beside the logger, which writes to the recorder unless they say otherwise. */
  server?: (recorder: Recorder) => FastifyServerOptions
  /** Every request is sent with and without an `Accept` header that prefers HTML; otherwise only those that fail. */
  thorough?: boolean
  /** Headers that every request has. */
  headers?: Record<string, string>
  /** Registers cors, cookie, session, swagger, swagger-ui, static, compress, etag and websocket. */
  plugins?: boolean
  helmet?: boolean
  /** Custom error handler and not-found handler at the root; `fails`: the error handler throws. */
  handlers?: 'answer' | 'fail'
  /** A `/*` route. */
  wildcard?: boolean
  /** A root `onRequest` hook that asks for credentials. */
  authentication?: boolean
  /** A root `onSend` hook that parses the JSON of errors and adds a header. */
  parsesErrors?: boolean
  /** A root `onSend` hook that throws. */
  failingSend?: 'always' | 'for successes'
  childLoggerFactory?: boolean
}

/** By name. The first has little time for plugins to load: it starts before any module has been loaded lazily. */
export const VARIANTS: Readonly<Record<string, Variant>> = {
  'short pluginTimeout': { server: () => ({ pluginTimeout: 2_000 }) },
  plugins: { thorough: true, plugins: true },
  helmet: { thorough: true, plugins: true, helmet: true },
  'own handlers': { plugins: true, handlers: 'answer' },
  'failing error handler': { handlers: 'fail' },
  wildcard: { plugins: true, wildcard: true },
  authentication: { plugins: true, authentication: true, headers: { authorization: 'right' } },
  'parsed errors': { plugins: true, parsesErrors: true },
  'failing onSend': { failingSend: 'always' },
  'onSend that fails for successes': { failingSend: 'for successes' },
  'child loggers': { childLoggerFactory: true },
  'logger instance': {
    server: ({ stream }) =>
      ({ logger: undefined, loggerInstance: pino({ level: 'debug', base: { application: 'shop' } }, stream) }) as unknown as FastifyServerOptions
  },
  'no request log': { server: () => ({ disableRequestLogging: true }) },
  'no log': { server: () => ({ logger: false }) },
  'server options': {
    server: (recorder) => ({
      bodyLimit: 1_000,
      exposeHeadRoutes: false,
      routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, maxParamLength: 20 },
      genReqId: () => recorder.nextIdentifier(),
      rewriteUrl: ({ url = '/' }) => url.replace(/^\/rewritten/, ''),
      schemaErrorFormatter: (errors) => new Error(`${errors.length} mistakes`),
      frameworkErrors: (error, _request, reply: FastifyReply) => { reply.code(400).send({ own: error.message }) },
      clientErrorHandler: (_error, socket) => { socket.end('HTTP/1.1 400 Own\r\nContent-Length: 3\r\nConnection: close\r\n\r\nown') }
    })
  }
}
