import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { WebSocket } from 'ws'
import { withoutInternalFrames } from '../support/internal-frames.js'
import { inTime } from './in-time.js'
import type { Recorder } from './recorder.js'
import type { TestRequest } from './requests.js'

/** What a client receives. */
export interface Answer {
  status: number
  statusText: string
  headers: Record<string, string | string[]>
  trailers: Record<string, string | string[]>
  /** In Base64. */
  body: string
}

/** What one request does. */
export interface Exchange {
  answer: Answer
  /** Hooks and handlers that ran, in order. */
  events: string[]
  /** Lines of the log, without what differs in each run. */
  lines: Line[]
}

export type Line = Record<string, unknown>

/** Milliseconds for an answer: a busy machine takes long to load what the first request waits for. */
const TIMEOUT = 60_000
/** Milliseconds without data after which a raw connection is abandoned. */
const IDLE_TIMEOUT = 10_000
/** A request is complete after this many turns of the event loop, or milliseconds, in which nothing is recorded. */
const QUIET_TURNS = 4

/** Sends a request and waits until hooks and log are quiet. */
export async function exchange (app: FastifyInstance, recorder: Recorder, asked: TestRequest): Promise<Exchange> {
  const answer = await inTime(send(app, recorder, asked), TIMEOUT).catch(failure)
  if (asked.until !== undefined) await recorded(recorder, asked.until)
  await settled(recorder, asked.via === undefined ? 0 : 1)
  return { answer, ...take(recorder, portOf(app)) }
}

/** What was recorded since the last time. */
export function take ({ events, lines }: Recorder, port: number | undefined): Pick<Exchange, 'events' | 'lines'> {
  return { events: events.splice(0), lines: lines.splice(0).map((line) => readLine(line, port)) }
}

/** Waits until nothing more is recorded. */
export async function settled ({ events, lines }: Recorder, milliseconds: number): Promise<void> {
  for (let quiet = 0, known = -1; quiet < QUIET_TURNS; quiet++) {
    await (milliseconds === 0 ? setImmediate() : sleep(milliseconds))
    if (known !== events.length + lines.length) quiet = 0
    known = events.length + lines.length
  }
}

function portOf (app: FastifyInstance): number {
  return (app.server.address() as AddressInfo).port
}

function readLine (line: string, port: number | undefined): Line {
  const text = port === undefined ? line : line.replaceAll(`:${port}`, ':<port>')
  const { time: _time, pid: _pid, hostname: _hostname, responseTime: _duration, reqId: _id, ...rest } = JSON.parse(text) as Line & { req?: Line, err?: Line }
  delete rest.req?.remotePort
  if (typeof rest.err?.stack === 'string') rest.err.stack = withoutInternalFrames(rest.err.stack)
  return rest
}

async function send (app: FastifyInstance, recorder: Recorder, asked: TestRequest): Promise<Answer> {
  const { method = 'GET', url, payload, bytes = '' } = asked
  const headers = Object.fromEntries(Object.entries(asked.headers ?? {}).filter((entry): entry is [string, string] => entry[1] !== null))
  switch (asked.via) {
    case 'raw': return await sendBytes(portOf(app), bytes)
    case 'websocket': return await converse(new WebSocket(`ws://127.0.0.1:${portOf(app)}${url}`, { headers }))
    case 'injected websocket': return await converse(undefined, async (onInit) => await app.injectWS(url, { headers }, { onInit }))
    case 'socket': return await sendRequest(portOf(app), { method, url, headers, payload })
    case 'aborted': return await sendRequest(portOf(app), { method, url, headers }, async () => { await recorded(recorder, 'slow handler started') })
    default: return await injectRequest(app, { method, url, headers, payload } as InjectOptions)
  }
}

function failure (error: unknown): Answer {
  const { code = '', message } = error as NodeJS.ErrnoException
  return { status: 0, statusText: `${code} ${message}`, headers: {}, trailers: {}, body: '' }
}

async function injectRequest (app: FastifyInstance, options: InjectOptions): Promise<Answer> {
  const { statusCode, statusMessage, headers, trailers, rawPayload } = await app.inject(options)
  return { status: statusCode, statusText: statusMessage, headers: kept(headers), trailers: kept(trailers), body: rawPayload.toString('base64') }
}

interface Sent {
  method: string
  url: string
  headers: Record<string, string>
  payload?: TestRequest['payload'] | undefined
}

/** With `leave` the client disconnects once that is done. */
async function sendRequest (port: number, { method, url, headers, payload }: Sent, leave?: () => Promise<void>): Promise<Answer> {
  const body = typeof payload === 'object' ? JSON.stringify(payload) : payload
  const client = request({
    host: '127.0.0.1',
    port,
    method,
    path: url,
    headers: { ...(typeof payload === 'object' && { 'content-type': 'application/json' }), ...headers },
    agent: false
  })
  const answered = once(client, 'response')
  client.end(body)
  if (leave !== undefined) {
    await leave()
    client.destroy()
  }
  const [response] = await answered as [IncomingMessage]
  const chunks: Buffer[] = []
  let end = ''
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer)
  } catch (error) {
    end = ` (cut off: ${(error as Error).message})`
  }
  return {
    status: response.statusCode ?? 0,
    statusText: `${response.statusMessage}${end}`,
    headers: kept(response.headers),
    trailers: kept(response.trailers),
    body: Buffer.concat(chunks).toString('base64')
  }
}

/** Reads until the server closes the connection. */
async function sendBytes (port: number, bytes: string): Promise<Answer> {
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(IDLE_TIMEOUT, () => { socket.destroy() })
  socket.on('error', () => {})
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => { chunks.push(chunk) })
  socket.write(bytes, 'latin1')
  await once(socket, 'close')
  const [head = '', ...rest] = Buffer.concat(chunks).toString('latin1').replaceAll(/\r\n(?:date: [^\r]*|x-debug-token(?:-link)?: [^\r]*)/gi, '').split('\r\n')
  return { status: Number(head.split(' ')[1]), statusText: head, headers: {}, trailers: {}, body: Buffer.from(rest.join('\r\n'), 'latin1').toString('base64') }
}

/** Sends one message, reads two and closes; what is received is the body. */
async function converse (client: WebSocket | undefined, inject?: (onInit: (socket: WebSocket) => void) => Promise<unknown>): Promise<Answer> {
  const received: string[] = []
  let upgrade: Pick<Answer, 'status' | 'statusText' | 'headers'> = { status: 101, statusText: '', headers: {} }
  const talk = (socket: WebSocket): WebSocket => socket
    .on('message', (message: Buffer) => {
      received.push(message.toString())
      if (received.length === 2) socket.close(1000)
    })
    .on('open', () => { socket.send('a message') })
    .on('upgrade', ({ statusCode = 0, statusMessage = '', headers }) => { upgrade = { status: statusCode, statusText: statusMessage, headers: kept(headers) } })
  let socket = client
  if (socket === undefined) await inject?.((injected) => { socket = talk(injected) })
  else talk(socket)
  if (socket === undefined) throw new Error('There is no socket')
  const refused = new Promise<Answer>((resolve, reject) => {
    socket?.on('error', reject)
    socket?.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => { chunks.push(chunk) })
      response.on('close', () => {
        resolve({
          status: response.statusCode ?? 0,
          statusText: response.statusMessage ?? '',
          headers: kept(response.headers),
          trailers: {},
          body: Buffer.concat(chunks).toString('base64')
        })
      })
    })
  })
  const closed = once(socket, 'close').then(
    ([code]): Answer => ({ ...upgrade, trailers: {}, body: Buffer.from(JSON.stringify([...received, code])).toString('base64') })
  )
  return await Promise.race([closed, refused])
}

/** Headers without those that differ in each run. */
function kept (headers: IncomingHttpHeaders | Record<string, unknown>): Answer['headers'] {
  const { date: _date, 'sec-websocket-accept': _key, ...rest } = headers as Answer['headers']
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]).sort())
}

async function recorded ({ events }: Recorder, event: string): Promise<void> {
  for (const start = Date.now(); !events.includes(event) && Date.now() - start < TIMEOUT;) await sleep(1)
}
