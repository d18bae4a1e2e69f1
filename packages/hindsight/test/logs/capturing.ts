import { Writable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import type { EventRecorder } from '../../src/recording/event-recorder.js'
import { requestContext, traceOf } from '../../src/recording/trace.js'
import { LogCapture } from '../../src/logs/log-capture.js'
import type { LogRecord, RequestLog } from '../../src/logs/log-record.js'

export interface Capturing {
  app: FastifyInstance
  capture: LogCapture
  /** What was captured for the requests of a path, in the order in which they came. */
  linesOf: (url: string) => LogRecord[]
  /** The messages of the application itself among them. */
  messagesOf: (url: string) => string[]
}

interface Setup {
  product?: 'package' | 'service'
  /** Whether requests are only reserved for. */
  reserve?: boolean
  /** Called before the first hook of the capture. */
  before?: (app: FastifyInstance) => unknown
}

/** An application whose requests are captured, without the rest of Hindsight. */
export async function capturing (
  t: Test, server: object, declare: (app: FastifyInstance) => unknown, { product = 'service', reserve = false, before }: Setup = {}
): Promise<Capturing> {
  const app = Fastify(server as FastifyServerOptions) as unknown as FastifyInstance
  const logs: Array<[url: string, log: RequestLog]> = []
  app.decorate('hindsight', { lifecycle: product === 'service' ? {} : null } as never)
  const capture = new LogCapture(app)
  t.teardown(() => app.close())
  app.addHook('onClose', async () => capture.close())
  await before?.(app)
  app.addHook('onRequest', (request, reply, done) => {
    const trace = traceOf(request)
    const { recording } = trace
    trace.begin(reply)
    if (!reserve) recording.events = {} as EventRecorder
    if (capture.open(trace)) requestContext.enterWith(trace.context)
    if (recording.log !== undefined) logs.push([request.url, recording.log])
    done()
  })
  await declare(app)
  await app.ready()
  const linesOf = (url: string): LogRecord[] => logs.filter(([of]) => of === url).flatMap(([, log]) => log.records())
  return {
    app,
    capture,
    linesOf,
    messagesOf: (url) => linesOf(url).filter(({ channel }) => channel === 'app').map(({ message }) => message)
  }
}

/** A destination, and the text that was written to it. */
export function output (): { stream: Writable, text: () => string } {
  let written = ''
  const stream = new Writable({ write (chunk, _encoding, done) { written += String(chunk); done() } })
  return { stream, text: () => written }
}
