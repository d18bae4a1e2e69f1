'use strict'
// OpenTelemetry with the instrumentation of Fastify's maintainers, and that of HTTP, which its documents require.
const { FastifyOtelInstrumentation } = require('@fastify/otel')
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto')
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http')
const { NodeSDK } = require('@opentelemetry/sdk-node')

new NodeSDK({
  traceExporter: new OTLPTraceExporter(),
  instrumentations: [new HttpInstrumentation(), new FastifyOtelInstrumentation({ registerOnInitialization: true })]
}).start()
