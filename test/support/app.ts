import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import application, { options as serverOptions } from '../../app/app.js'
import type { HindsightOptions } from '../../app/options.js'
import type { ServerLimits } from '../../app/server-options.js'
import type { ListenerEvent } from '../../lib/lifecycle/events.js'
import { profilerSettings, type ProfilerOption } from '../../lib/profiler/settings.js'
import type { Profile } from '../../lib/profiler/profile.js'

/** A folder without any route. */
const NO_ROUTES = join(import.meta.dirname, '../fixtures/no-routes')
const SECRET = 'a secret of the tests, thirty-two characters and more'
const TIMEOUT = 5_000
/** Milliseconds: what is loaded in debug mode alone takes its time on a machine that has other things to do. */
const PLUGIN_TIMEOUT = 60_000

export interface BuildOptions extends HindsightOptions {
  /** What clients may cost. */
  limits?: Partial<ServerLimits>
  /** Declares routes and hooks of a test, behind the application's own. */
  declare?: (app: FastifyInstance) => unknown
  /** The folder whose routes are loaded; none by default. */
  routesDir?: string
  /** Server options beside those of the application. */
  server?: FastifyServerOptions
}

/** The application as its users have it, in debug mode and with a silent log unless told otherwise; ready. */
export async function build ({ declare, routesDir = NO_ROUTES, server = {}, limits, profiler, ...hindsight }: BuildOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ ...serverOptions, logger: { level: 'silent' }, pluginTimeout: PLUGIN_TIMEOUT, ...server } as FastifyServerOptions) as unknown as FastifyInstance
  await app.register(application, { hindsight: { debug: true, session: { secret: SECRET }, ...hindsight, profiler: inMemory(profiler) }, routesDir, ...(limits !== undefined && { limits }) })
  await declare?.(app)
  await app.ready()
  return app
}

/** The same option with a store of its own for each application, which nobody has to clear away. */
export function inMemory (option?: ProfilerOption): ProfilerOption {
  const settings = profilerSettings(option)
  return settings === null ? false : { storage: 'memory', ...settings }
}

/** Listens on a free port of the loopback interface, and says which. */
export async function listen (app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Headers by lower-case name; one that came more than once is an array. */
export type Headers = Record<string, string | string[] | undefined>

export interface RawResponse {
  status: number
  headers: Headers
  body: Buffer
  /** The body as UTF-8. */
  text: string
}

/**
 * Sends bytes (a string is taken as Latin-1) and reads the first final response to them;
 * null when the connection was closed without an answer. Rejects when neither comes in time.
 * With `end` the client closes its own side behind the bytes.
 */
export function raw (port: number, bytes: string | Buffer, { timeout = TIMEOUT, end = false } = {}): Promise<RawResponse | null> {
  const isHead = bytes.toString('latin1').startsWith('HEAD ')
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
      if (end) socket.end()
    })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`No whole answer within ${timeout} ms; so far: ${JSON.stringify(received.toString('latin1').slice(0, 500))}`))
    }, timeout)
    const finish = (response: RawResponse | null): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(response)
    }
    const ended = (): void => {
      const response = firstResponse(received, isHead, true)
      if (response === null && received.length > 0) {
        clearTimeout(timer)
        reject(new Error(`The answer was cut off: ${JSON.stringify(received.toString('latin1').slice(0, 500))}`))
      } else finish(response)
    }
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      const response = firstResponse(received, isHead, false)
      if (response !== null) finish(response)
    })
    // A server that refuses a message may close while the rest of it is still on its way.
    socket.on('error', () => {})
    socket.on('close', ended)
  })
}

function firstResponse (received: Buffer, isHead: boolean, ended: boolean): RawResponse | null {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1])
  const rest = received.subarray(end + 4)
  if (status < 200) return firstResponse(rest, isHead, ended)
  const headers: Headers = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  const body = isHead || status === 204 || status === 304 ? Buffer.alloc(0) : bodyOf(rest, headers, ended)
  return body === null ? null : { status, headers, body, text: body.toString('utf8') }
}

function bodyOf (rest: Buffer, headers: Headers, ended: boolean): Buffer | null {
  if (headers['transfer-encoding'] === 'chunked') return chunks(rest)
  const length = headers['content-length']
  if (length === undefined) return ended ? rest : null
  return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : null
}

function chunks (rest: Buffer): Buffer | null {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const end = rest.indexOf('\r\n', at)
    if (end === -1) return null
    const size = parseInt(rest.subarray(at, end).toString('latin1'), 16)
    if (rest.length < end + 2 + size + 2) return null
    if (size === 0) return Buffer.concat(parts)
    parts.push(rest.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

/** The profile that a response names in `X-Debug-Token`; it is written behind the response, so it may be waited for. */
export async function profileOf (app: FastifyInstance, response: { headers: object } | null): Promise<Profile> {
  const token = (response?.headers as Headers | undefined)?.['x-debug-token']
  if (typeof token !== 'string') throw new Error('The response has no X-Debug-Token')
  for (let tries = 0; tries < 100; tries++) {
    const answer = await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'application/json' } })
    if (answer.statusCode === 200) return answer.json<Profile>()
    await sleep(20)
  }
  throw new Error(`There is no profile "${token}"`)
}

/** The listeners that ran, as lines of pass, stage and listener; what hooks of the application did between them is left out. */
export function ran (events: readonly ListenerEvent[]): string[] {
  return events.filter(({ stage }) => stage.startsWith('kernel.')).map(({ pass, stage, listener }) => `${pass} ${stage} ${listener}`)
}
