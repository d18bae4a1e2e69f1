import { FastifyOtelInstrumentation } from '@fastify/otel'
import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base'
import Fastify from 'fastify'
import { addHooks, hello, type Variants } from './shared.js'

/** Milliseconds. */
const RESET_INTERVAL = 1_000

/** The peer that traces every hook. */
export const variants: Variants = {
  'otel:hooks': async () => {
    const exporter = new InMemorySpanExporter()
    // Otherwise the memory of the process would grow with each request.
    setInterval(() => { exporter.reset() }, RESET_INTERVAL).unref()
    const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
    trace.setGlobalTracerProvider(provider)
    const instrumentation = new FastifyOtelInstrumentation()
    instrumentation.setTracerProvider(provider)
    const app = Fastify()
    await app.register(instrumentation.plugin() as never)
    addHooks(app as never)
    return hello(app as never)
  }
}
