import { FastifyOtelInstrumentation } from '@fastify/otel'
import { BasicTracerProvider, NoopSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { trace } from '@opentelemetry/api'
import Fastify from 'fastify'
import { addHooks, hello, type Variants } from './shared.js'

/** The peer that traces every hook. */
export const variants: Variants = {
  'otel:hooks': async ({ hooks = 30 }) => {
    const provider = new BasicTracerProvider({ spanProcessors: [new NoopSpanProcessor()] })
    trace.setGlobalTracerProvider(provider)
    const instrumentation = new FastifyOtelInstrumentation()
    instrumentation.setTracerProvider(provider)
    const app = Fastify()
    await app.register(instrumentation.plugin() as never)
    addHooks(app as never, hooks)
    return hello(app as never)
  }
}
