import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Ajv } from 'ajv'
import type { Test } from 'tap'
import type { OtlpSpan, TraceRequest } from '../../lib/profiler/otlp/message.js'

// opentelemetry/proto/collector/trace/v1 and what it imports, in the JSON mapping of OTLP: nothing that is not in there is let through.
const string = { type: 'string' }
const count = { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 }
const nano = { type: 'string', pattern: '^[0-9]{1,20}$' }
const list = (items: object): object => ({ type: 'array', items })
const only = (properties: Record<string, object>, required: string[] = []): object => ({ type: 'object', additionalProperties: false, properties, required })
const attributes = list({ $ref: '#/$defs/keyValue' })
const $defs = {
  keyValue: only({ key: { type: 'string', minLength: 1 }, value: { $ref: '#/$defs/anyValue' } }, ['key', 'value']),
  anyValue: {
    ...only({ stringValue: string, boolValue: { type: 'boolean' }, intValue: { type: ['integer', 'string'], pattern: '^-?[0-9]+$' }, doubleValue: { type: 'number' }, arrayValue: only({ values: list({ $ref: '#/$defs/anyValue' }) }), kvlistValue: only({ values: attributes }), bytesValue: string }),
    maxProperties: 1
  },
  span: only({
    traceId: { type: 'string', pattern: '^(?!0{32})[0-9a-f]{32}$' },
    spanId: { type: 'string', pattern: '^(?!0{16})[0-9a-f]{16}$' },
    traceState: string,
    parentSpanId: { type: 'string', pattern: '^(?!0{16})[0-9a-f]{16}$' },
    flags: count,
    name: { type: 'string', minLength: 1 },
    kind: { type: 'integer', minimum: 0, maximum: 5 },
    startTimeUnixNano: nano,
    endTimeUnixNano: nano,
    attributes,
    droppedAttributesCount: count,
    events: list(only({ timeUnixNano: nano, name: string, attributes, droppedAttributesCount: count }, ['timeUnixNano', 'name'])),
    droppedEventsCount: count,
    links: list({ type: 'object' }),
    droppedLinksCount: count,
    status: only({ message: string, code: { type: 'integer', minimum: 0, maximum: 2 } })
  }, ['traceId', 'spanId', 'name', 'startTimeUnixNano', 'endTimeUnixNano'])
}
const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile({
  $defs,
  ...only({
    resourceSpans: list(only({
      resource: only({ attributes, droppedAttributesCount: count }),
      scopeSpans: list(only({ scope: only({ name: string, version: string, attributes, droppedAttributesCount: count }), spans: list({ $ref: '#/$defs/span' }), schemaUrl: string }, ['spans'])),
      schemaUrl: string
    }, ['scopeSpans']))
  }, ['resourceSpans'])
})

/** What is wrong with a request to `/v1/traces`, by its messages and by what a collector expects of them; nothing: an empty list. */
export function faultsOf (request: unknown): string[] {
  if (!validate(request)) return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`)
  const { resourceSpans } = request as unknown as TraceRequest
  const spans = spansIn(request as unknown as TraceRequest)
  const ids = spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`)
  return [
    ...resourceSpans.filter(({ resource }) => !resource.attributes.some(({ key }) => key === 'service.name')).map(() => 'a resource without service.name'),
    ...(new Set(ids).size === ids.length ? [] : ['an id comes twice']),
    ...spans.filter(({ startTimeUnixNano: start, endTimeUnixNano: end }) => BigInt(end) < BigInt(start)).map(({ name }) => `${name} ends before it begins`),
    ...spans.filter(({ attributes }) => new Set(attributes.map(({ key }) => key)).size < attributes.length).map(({ name }) => `${name} has an attribute twice`)
  ]
}

/** All spans of a request. */
export function spansIn ({ resourceSpans }: TraceRequest): OtlpSpan[] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

/** The attributes of a span or an event, by their names. */
export function valuesOf ({ attributes }: Pick<OtlpSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

export interface Answer { status: number, body?: string, headers?: Record<string, string> }

/** A collector that takes traces by HTTP as JSON, and refuses what is none. */
export class Collector {
  readonly requests: TraceRequest[] = []
  readonly faults: string[] = []
  readonly headers: IncomingHttpHeaders[] = []
  readonly #server: Server
  /** What it answers next, in turn; then 200. */
  answers: Answer[] = []

  constructor () {
    this.#server = createServer((request, response) => {
      text(request).then((body) => {
        const faults = request.method !== 'POST' || request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json' ? ['not a POST of JSON to /v1/traces'] : faultsOf(JSON.parse(body))
        this.faults.push(...faults)
        this.headers.push(request.headers)
        const { status, body: text = '{"partialSuccess":{}}', headers = {} } = this.answers.shift() ?? { status: faults.length > 0 ? 400 : 200 }
        if (status === 200) this.requests.push(JSON.parse(body) as TraceRequest)
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
      }, () => response.destroy())
    })
  }

  /** Listens, and ends with the test; the address. */
  async listen (t: Pick<Test, 'teardown'>): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`
  }
}
