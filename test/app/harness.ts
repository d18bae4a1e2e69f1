import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { hindsight } from '../../app/hindsight.js'
import type { HindsightOptions } from '../../app/options.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { build as buildApplication } from '../support/app.js'

export const SECRET = 'a secret of the tests, thirty-two characters and more'

type Setup = (app: FastifyInstance) => unknown

/** A fresh application in debug mode, with whatever routes `setup` declares; closed behind its test. */
export async function build (t: Test, options: HindsightOptions = {}, setup: Setup = () => {}, server: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = await buildApplication({ ...options, declare: setup, server })
  t.teardown(() => app.close())
  return app
}

/** Why an application with these options does not start. */
export async function refusal (options: object): Promise<string> {
  const app = Fastify()
  try {
    await app.register(hindsight, { lifecycle: 'full', debug: true, session: { secret: SECRET }, ...options })
    await app.ready()
    return 'it started'
  } catch (error) {
    return (error as Error).message
  } finally {
    await app.close()
  }
}

/** Starts to listen; the port. */
export async function listen (app: FastifyInstance, host = '127.0.0.1'): Promise<number> {
  await app.listen({ port: 0, host })
  return (app.server.address() as AddressInfo).port
}

/** Sends octets over a socket; what came back until the server closed or `wait` milliseconds were silent. */
export function raw (port: number, bytes: string | Buffer, { host = '127.0.0.1', wait = 1500 } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, host, () => socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes))
    socket.setTimeout(wait, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => { if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error) })
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  })
}

/** One GET over a socket, closed behind its answer. */
export function get (port: number, path: string, headers: Record<string, string> = {}, host = '127.0.0.1'): Promise<string> {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, Connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return raw(port, Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), { host, wait: 20_000 })
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
export const headerOf = (answer: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(answer.split('\r\n\r\n', 1)[0] ?? '')?.[1]?.trim()

/** The stored profile that an answer names. */
export async function profileOf (app: FastifyInstance, answer: { headers: Record<string, unknown> } | string): Promise<Profile> {
  const token = typeof answer === 'string' ? headerOf(answer, 'x-debug-token') ?? '' : String(answer.headers['x-debug-token'])
  const profile = await app.hindsight.profiler.find(token)
  if (profile === undefined) throw new Error(`No profile ${token}`)
  return profile
}

/** The newest stored profile. */
export async function newest (app: FastifyInstance): Promise<Profile> {
  const summary = await app.hindsight.profiler.latest()
  const profile = await app.hindsight.profiler.find(summary?.token ?? '')
  if (profile === undefined) throw new Error('No profile is stored')
  return profile
}

/** What a listener did, by the newest event of its name and stage. */
export function eventOf (profile: Profile, stage: string, listener: string): Profile['events'][number] | undefined {
  return profile.events.findLast((event) => event.stage === stage && event.listener === listener)
}

/** The message of the error that an answer is about, as the JSON form of the page tells it. */
export async function problem (app: FastifyInstance, request: string | Readonly<InjectOptions>): Promise<{ status: number, messages: string[], names: string[] }> {
  const given = typeof request === 'string' ? { url: request } : request
  const response = await app.inject({ ...given, headers: { ...given.headers, accept: 'application/json' } })
  const { exceptions = [] } = response.json<{ exceptions?: Array<{ message: string, name: string }> }>()
  return { status: response.statusCode, messages: exceptions.map(({ message }) => message), names: exceptions.map(({ name }) => name) }
}
