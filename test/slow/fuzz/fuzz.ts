import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { exchange, type Exchange } from './messages.js'

export interface FuzzOptions {
  /** How many connections are made. */
  messages: number
  seed: number
  /** Told now and then how far it has come. */
  progress?: (done: number) => void
  env?: NodeJS.ProcessEnv
}

export interface FuzzFigures {
  messages: number
  responses: number
  /** By status; 0 where a connection was closed without an answer. */
  statuses: Record<string, number>
  /** Bytes of the heap after a garbage collection, when a tenth was done and at the end. */
  heapEarly: number
  heapLate: number
}

const PATIENCE = 60_000
const STATUS_LINE = /HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n/g

/** Sends generated messages to a service in a process of its own; rejects with the smallest connection that it takes badly. */
export async function fuzz ({ messages, seed, progress = () => {}, env = {} }: FuzzOptions): Promise<FuzzFigures> {
  const service = fork(
    join(import.meta.dirname, 'server.ts'),
    { execArgv: ['--import=tsx', '--expose-gc'], env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }
  )
  const crashes: string[] = []
  service.on('message', ({ crash }: { crash?: string }) => { if (crash !== undefined) crashes.push(crash) })
  service.on('exit', (code, signal) => crashes.push(`The process ended: ${code ?? signal}`))
  try {
    const port = (await answer<{ port: number }>(service, 'port')).port
    const figures: FuzzFigures = { messages: 0, responses: 0, statuses: {}, heapEarly: 0, heapLate: 0 }
    await fc.assert(fc.asyncProperty(exchange, async (one) => {
      const received = await send(port, one)
      judge(one, received, crashes)
      figures.messages++
      const statuses = [...received.matchAll(STATUS_LINE)].map(([, status = '0']) => status)
      figures.responses += statuses.length
      for (const status of statuses.length === 0 ? ['0'] : statuses) figures.statuses[status] = (figures.statuses[status] ?? 0) + 1
      if (figures.messages === Math.ceil(messages / 10)) figures.heapEarly = (await ask(service)).heap
      if (figures.messages % 5_000 === 0) progress(figures.messages)
    }), { numRuns: messages, seed, endOnFailure: false, interruptAfterTimeLimit: 3_600_000, markInterruptAsFailure: true })
    const { heap, smuggled } = await ask(service)
    if (smuggled > 0) throw new Error(`${smuggled} requests were smuggled`)
    if (messages >= 10_000 && heap > figures.heapEarly * 1.5) throw new Error(`The heap has grown from ${figures.heapEarly} to ${heap} bytes`)
    return { ...figures, heapLate: heap }
  } finally {
    service.removeAllListeners('exit')
    service.kill('SIGKILL')
  }
}

function judge ({ bytes, owed, smuggling }: Exchange, received: string, crashes: readonly string[]): void {
  const shown = JSON.stringify(bytes)
  if (crashes.length > 0) throw new Error(`The service broke at ${shown}: ${crashes.join('\n')}`)
  const statuses = finalStatuses(received)
  // RFC 9112, section 9.6: what follows a response that closes the connection is not answered.
  if (statuses.length < owed && !/^connection: close\r$/im.test(received)) {
    throw new Error(`${owed} responses are owed, ${statuses.length} came: ${shown} → ${JSON.stringify(received.slice(0, 500))}`)
  }
  // Whoever passed it on may have found another end: only a refusal is safe.
  if (smuggling && (statuses.length === 0 || statuses.some((status) => status < 400))) {
    throw new Error(`What is ambiguous was not refused (${statuses.join()}): ${shown} → ${JSON.stringify(received.slice(0, 500))}`)
  }
  // Only the route that fails on purpose may say so.
  if (statuses.some((status) => status >= 500 && status !== 505) && !bytes.includes('/fail')) {
    throw new Error(`A server error that is none of the application: ${shown} → ${JSON.stringify(received.slice(0, 800))}`)
  }
  for (const refusal of refusals(received)) {
    if (!/<title>[^<]+|"(?:title|message)":\s*"[^"]+|^# .+/m.test(refusal)) {
      throw new Error(`A refusal that explains nothing: ${shown} → ${JSON.stringify(received.slice(0, 500))}`)
    }
  }
}

function finalStatuses (received: string): number[] {
  return [...received.matchAll(STATUS_LINE)].map(([, status]) => Number(status)).filter((status) => status >= 200)
}

/** The answers that have a status of 400, 408, 413, 417 or 431, and a body; HEAD has none. */
function refusals (received: string): string[] {
  return received.split(/(?=HTTP\/1\.1 \d{3} )/).filter((answer) => /^HTTP\/1\.1 4(?:00|08|13|17|31) /.test(answer) && !/\r\n\r\n$/.test(answer))
}

/**
 * Sends bytes, ends its own side as soon as it has what it is owed (Node.js takes a client that ends it earlier for gone), and
 * reads until the other ends too; rejects where that takes too long.
 */
async function send (port: number, { bytes, owed }: Exchange): Promise<string> {
  return await new Promise((resolve, reject) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`The connection hangs after ${JSON.stringify(bytes)}; so far came ${JSON.stringify(received.slice(0, 300))}`))
    }, PATIENCE)
    const done = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(received)
    }
    socket.setEncoding('latin1')
    socket.on('connect', () => {
      socket.write(Buffer.from(bytes, 'latin1'))
      if (owed === 0) socket.end()
    })
    socket.on('data', (chunk) => {
      received += String(chunk)
      if (owed > 0 && finalStatuses(received).length >= owed) socket.end()
    })
    socket.on('end', done)
    socket.on('error', done)
  })
}

interface Figures {
  heap: number
  connections: number
  smuggled: number
}

async function ask (service: ChildProcess): Promise<Figures> {
  service.send('figures')
  return await answer<Figures>(service, 'heap')
}

async function answer<T> (service: ChildProcess, key: string): Promise<T> {
  for (;;) {
    const [message] = await once(service, 'message') as [Record<string, unknown>]
    if (key in message) return message as T
  }
}
