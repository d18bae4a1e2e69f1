/** Where profiles go as traces (OTLP by HTTP, as JSON). */
export interface OtlpSettings {
  /** The address that traces are posted to; by default that of a collector on this machine. */
  endpoint?: string
  /** Headers that the collector needs. */
  headers?: Record<string, string>
  /** The name of the service; `OTEL_SERVICE_NAME`, or `unknown_service:node`, by default. */
  serviceName?: string
}

/** Where they go, as it is settled. */
export interface OtlpTarget {
  endpoint: string
  headers: Record<string, string>
  resource: Record<string, string>
}

type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_ENDPOINT = 'http://localhost:4318'
const TRACES = '/v1/traces'

/** Settles where traces go: what the option says, and the standard variables of OpenTelemetry for what it does not. Throws with the name of what is wrong. */
export function otlpTarget ({ endpoint, headers, serviceName }: OtlpSettings, env: Environment = process.env, option = 'profiler.otlp'): OtlpTarget {
  const told = endpoint !== undefined && endpoint !== ''
  const address = told ? endpoint : given(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) ?? `${(given(env.OTEL_EXPORTER_OTLP_ENDPOINT) ?? DEFAULT_ENDPOINT).replace(/\/+$/, '')}${TRACES}`
  const name = told ? `${option}.endpoint` : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  if (!URL.canParse(address)) throw new Error(`${name}: "${address}" is no URL; a collector's is like ${DEFAULT_ENDPOINT}${TRACES}`)
  const { protocol, username, password, port } = new URL(address)
  if (protocol !== 'http:' && protocol !== 'https:') throw new Error(`${name}: "${protocol}" is neither http: nor https:`)
  if (username !== '' || password !== '') throw new Error(`${name}: credentials belong into ${option}.headers (OTEL_EXPORTER_OTLP_HEADERS), not into the URL`)
  if (port === '4317') throw new Error(`${name}: port 4317 is that of gRPC; traces go by HTTP, to port 4318 by default`)
  const sent = { ...readPairs(given(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS) ?? given(env.OTEL_EXPORTER_OTLP_HEADERS) ?? '', 'OTEL_EXPORTER_OTLP_HEADERS'), ...headers }
  checkHeaders(sent, `${option}.headers`)
  return { endpoint: address, headers: sent, resource: resourceOf(serviceName, env) }
}

/** What traces say of the service that they are of. */
export function resourceOf (serviceName: string | undefined, env: Environment = process.env): Record<string, string> {
  const attributes = readPairs(given(env.OTEL_RESOURCE_ATTRIBUTES) ?? '', 'OTEL_RESOURCE_ATTRIBUTES')
  return { ...attributes, 'service.name': given(serviceName) ?? given(env.OTEL_SERVICE_NAME) ?? attributes['service.name'] ?? 'unknown_service:node' }
}

/** Reads `name=value,name=value`, percent-encoded, as the variables of OpenTelemetry have it. */
export function readPairs (text: string, option: string): Record<string, string> {
  return Object.fromEntries(text.split(',').map((pair) => pair.trim()).filter((pair) => pair !== '').map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new Error(`${option}: a pair is written as in "name=value", separated by commas`)
    try {
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]
    } catch {
      throw new Error(`${option}: the value of "${pair.slice(0, at).trim()}" is not percent-encoded as it should be`)
    }
  }))
}

function checkHeaders (headers: Record<string, string>, option: string): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers().set(name, value)
    } catch {
      throw new Error(`${option}: "${name}" has a name or a value that no header may have`)
    }
  }
}

function given (value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}
