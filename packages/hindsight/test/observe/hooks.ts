import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { describe, type Recorder } from './recorder.js'

type Detail = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => string

/** Hooks that receive a payload or an error, and what is recorded of it and of the reply. */
const WITH_PAYLOAD: Readonly<Record<string, Detail>> = {
  preParsing: () => '',
  preSerialization: (_request, _reply, payload) => JSON.stringify(payload),
  onSend: (_request, reply, payload) => `${reply.statusCode} ${kindOf(payload)} ${JSON.stringify(headersOf(reply))}`,
  onError: (_request, _reply, error) => errorText(error)
}

const WITHOUT_PAYLOAD: Readonly<Record<string, Detail>> = {
  onRequest: ({ is404, routeOptions }) =>
    `${is404} ${String(Reflect.ownKeys(routeOptions))} ${String(describe(routeOptions.handler))} ${JSON.stringify(describe(routeOptions.config))}`,
  preValidation: ({ body }) => kindOf(body),
  preHandler: ({ body, query, params }) => JSON.stringify([body, query, params]),
  onResponse: (_request, reply) => String(reply.statusCode)
}

const OF_THE_APPLICATION = ['onReady', 'onListen', 'preClose', 'onClose'] as const

/** Adds each hook twice, with a callback and asynchronous; records when it runs, on which instance, and its arguments. */
export function addHooks (app: FastifyInstance, place: string, recorder: Recorder): void {
  const note = (hook: string, instance: FastifyInstance, detail = ''): void => { recorder.note(`${place} ${hook} on "${instance.prefix}" ${detail}`) }
  for (const [hook, detail] of Object.entries(WITH_PAYLOAD)) {
    add(app, hook, {
      [`${place}${hook}`] (
        this: FastifyInstance, request: FastifyRequest, reply: FastifyReply, payload: unknown, done: (error: null, payload?: unknown) => void
      ) {
        note(`${hook} with a callback`, this, detail(request, reply, payload))
        if (hook === 'onError') done(null)
        else done(null, payload)
      },
      async [`${place}${hook}Asynchronous`] (this: FastifyInstance, _request: FastifyRequest, _reply: FastifyReply, payload: unknown) {
        note(hook, this)
        return hook === 'onError' ? undefined : payload
      }
    })
  }
  for (const [hook, detail] of Object.entries(WITHOUT_PAYLOAD)) {
    add(app, hook, {
      [`${place}${hook}`] (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply, done: () => void) {
        note(`${hook} with a callback`, this, detail(request, reply, undefined))
        done()
      },
      async [`${place}${hook}Asynchronous`] (this: FastifyInstance, _request: FastifyRequest, _reply: FastifyReply) { note(hook, this) }
    })
  }
  add(app, 'onRequestAbort', {
    [`${place}onRequestAbort`] (this: FastifyInstance, _request: FastifyRequest, done: () => void) {
      note('onRequestAbort with a callback', this)
      done()
    },
    async [`${place}onRequestAbortAsynchronous`] (this: FastifyInstance, _request: FastifyRequest) { note('onRequestAbort', this) }
  })
  for (const hook of OF_THE_APPLICATION) add(app, hook, { async [`${place}${hook}`] () { recorder.note(`${place} ${hook}`) } })
  app.addHook('onReady', function (done) {
    recorder.note(`${place} onReady with a callback`)
    done()
  })
}

// The types of Fastify have an overload for each name.
function add (app: FastifyInstance, hook: string, functions: Record<string, unknown>): void {
  for (const each of Object.values(functions)) app.addHook(hook as 'onRequest', each as never)
}

// Headers of the debug surface are left out: they are allowed.
function headersOf (reply: FastifyReply): Record<string, unknown> {
  return Object.fromEntries(Object.entries(reply.getHeaders()).filter(([name]) => !name.startsWith('x-debug-')).sort())
}

function kindOf (payload: unknown): string {
  if (typeof payload === 'string') return `text of ${payload.length}: ${payload.slice(0, 60)}`
  if (Buffer.isBuffer(payload)) return `bytes of ${payload.length}`
  return typeof payload === 'object' && payload !== null ? payload.constructor.name : String(payload)
}

/** An error as events name it; anything can be thrown. */
export function errorText (error: unknown): string {
  return error instanceof Error ? `${error.name} ${(error as { code?: string }).code ?? ''} ${error.message}` : `${typeof error} ${JSON.stringify(error)}`
}
