import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyServerOptions, type InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { service } from '../../../../app/service.js'
import application, { options as serverOptions } from '../../../../app/app.js'
import type { HindsightOptions } from '../../src/options.js'
import type { ServerSettings, ServiceOptions } from '../../../../lib/options.js'
import type { ListenerEvent } from '../../src/recording/events.js'
import { profilerSettings } from '../../src/begin.js'
import { profileMarkdown } from '../../src/reading/profile-markdown.js'
import type { Profile } from '../../src/store/profile.js'

/** A folder without any route. */
const NO_ROUTES = join(import.meta.dirname, '../../../../test/fixtures/no-routes')
export const SECRET = 'a secret of the tests, thirty-two characters and more'
const TIMEOUT = 20_000
/** Milliseconds: what is loaded in debug mode alone takes its time on a machine that has other things to do. */
const PLUGIN_TIMEOUT = 60_000

type Declare = (app: FastifyInstance) => unknown

export interface BuildOptions extends ServiceOptions {
  /** What clients may cost the server. */
  limits?: Partial<ServerSettings>
  /** Declares routes and hooks of a test, after those of the application. */
  declare?: Declare
  /** The folder whose routes are loaded; none by default. */
  routesDir?: string
  /** Server options beside those of the application. */
  server?: FastifyServerOptions
}

/**
 * The application as users have it, in debug mode with a silent log unless the options differ; ready. Given a test, it
 * is closed after it.
 */
export async function build (
  first: Test | BuildOptions = {}, second: BuildOptions = {}, declare?: Declare, server?: FastifyServerOptions
): Promise<FastifyInstance> {
  const isTest = 'teardown' in first
  const given = isTest ? { ...second, ...(declare !== undefined && { declare }), ...(server !== undefined && { server }) } : first
  const app = await buildApplication(given)
  if (isTest) first.teardown(() => app.close())
  return app
}

async function buildApplication ({ declare, routesDir = NO_ROUTES, server = {}, limits, profiler, ...others }: BuildOptions): Promise<FastifyInstance> {
  const settings = { ...serverOptions, logger: { level: 'debug', stream: { write () {} } }, pluginTimeout: PLUGIN_TIMEOUT, ...server } as FastifyServerOptions
  const app = Fastify(settings) as unknown as FastifyInstance
  const options = { debug: true, session: { secret: SECRET }, ...others, profiler: inMemory(profiler) }
  await app.register(application, { service: options, routesDir, ...(limits !== undefined && { limits }) })
  await declare?.(app)
  await app.ready()
  return app
}

/** The message of the error with which an application with these options does not start. */
export async function refusal (options: object, plugin: FastifyPluginAsync<ServiceOptions> = service): Promise<string> {
  const app = Fastify({ pluginTimeout: PLUGIN_TIMEOUT })
  try {
    await app.register(plugin, { debug: true, ...(plugin === service && { session: { secret: SECRET } }), ...options })
    await app.ready()
    return 'it started'
  } catch (error) {
    return (error as Error).message
  } finally {
    await app.close()
  }
}

/** The same option with a store in memory for each application. No query is slow unless it says so: on a busy machine any may be. */
export function inMemory (option?: NonNullable<HindsightOptions['profiler']>): NonNullable<HindsightOptions['profiler']> {
  const settings = profilerSettings(option)
  return settings === null ? false : { storage: 'memory', slowQuery: 60_000, ...settings }
}

/** Listens on a free port, by default of the loopback interface; resolves to the port when the store answers. */
export async function listen (app: FastifyInstance, host = '127.0.0.1'): Promise<number> {
  await app.listen({ host, port: 0 })
  // Its thread starts then, for seconds on a busy machine, and a search waits for a second only.
  const { hindsight } = app as Partial<FastifyInstance>
  if (hindsight?.hasProfiles === true) await hindsight.profiler.stats().catch(() => {})
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
 * With `end` the client closes its own side after the bytes.
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

/** Sends bytes over a socket; resolves to the text that came back until the server closed or `wait` milliseconds were silent. */
export function rawText (port: number, bytes: string | Buffer, { host = '127.0.0.1', wait = 20_000 } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, host, () => socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes))
    socket.setTimeout(wait, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => { if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error) })
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  })
}

/** One GET over a socket that closes after the response. */
export function get (port: number, path: string, headers: Record<string, string> = {}, host = '127.0.0.1'): Promise<string> {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, Connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return rawText(port, Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), { host })
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
export const headerOf = (answer: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(answer.split('\r\n\r\n', 1)[0] ?? '')?.[1]?.trim()

/** The profile that a response names in `X-Debug-Token`; it is written after the response. */
export async function profileOf (app: FastifyInstance, response: { headers: object } | string | null): Promise<Profile> {
  const token = typeof response === 'string' ? headerOf(response, 'x-debug-token') : (response?.headers as Headers | undefined)?.['x-debug-token']
  if (typeof token !== 'string') throw new Error('The response has no X-Debug-Token')
  for (let tries = 0; tries < 500; tries++) {
    const profile = await findProfile(app, token)
    if (profile !== undefined) return withBoundedSheet(profile)
    await sleep(20)
  }
  throw new Error(`There is no profile "${token}"`)
}

/** The fact sheet of each profile that a test reads has at most 6,000 bytes. */
function withBoundedSheet (profile: Profile): Profile {
  const size = Buffer.byteLength(profileMarkdown(profile))
  if (size > 6_000) throw new Error(`The Markdown of ${profile.method} ${profile.url} has ${size} bytes`)
  return profile
}

// Where the plugin is registered in a part of the application, the profile is read by HTTP.
async function findProfile (app: FastifyInstance, token: string): Promise<Profile | undefined> {
  if (app.hasDecorator('hindsight')) return await app.hindsight.profiler.find(token)
  const answer = await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'application/json' } })
  return answer.statusCode === 200 ? answer.json<Profile>() : undefined
}

/** The newest stored profile. */
export async function newest (app: FastifyInstance): Promise<Profile> {
  const summary = await app.hindsight.profiler.latest()
  const profile = await app.hindsight.profiler.find(summary?.token ?? '')
  if (profile === undefined) throw new Error('No profile is stored')
  return withBoundedSheet(profile)
}

/** The newest event of a listener in a stage. */
export function eventOf (profile: Profile, stage: string, listener: string): Profile['events'][number] | undefined {
  return profile.events.findLast((event) => event.stage === stage && event.listener === listener)
}

/** The errors that a response is about, from the JSON form of the diagnostic page. */
export async function problem (
  app: FastifyInstance, request: string | Readonly<InjectOptions>
): Promise<{ status: number, messages: string[], names: string[] }> {
  const given = typeof request === 'string' ? { url: request } : request
  const response = await app.inject({ ...given, headers: { ...given.headers, accept: 'application/json' } })
  const { exceptions = [] } = response.json<{ exceptions?: Array<{ message: string, name: string }> }>()
  return { status: response.statusCode, messages: exceptions.map(({ message }) => message), names: exceptions.map(({ name }) => name) }
}

/** The listeners that ran, as lines of pass, stage and listener; what hooks of the application did between them is left out. */
export function ran (events: readonly ListenerEvent[]): string[] {
  return events.filter(({ stage }) => stage.startsWith('kernel.')).map(({ pass, stage, listener }) => `${pass} ${stage} ${listener}`)
}
