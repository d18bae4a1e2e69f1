import { on } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/** A number of equal requests over some connections. */
export interface Load {
  port: number
  requests: number
  connections: number
  path: string
  headers: Readonly<Record<string, string>>
  /** Requests a second; without it, each connection sends the next request after each response. */
  rate?: number
}

/** The result of a load. */
export interface Loaded {
  /** Milliseconds. */
  elapsed: number
  /** How many responses had the status of the first one. */
  same: number
  status: number
  /** Milliseconds from the moment at which a request was due, in ascending order; only of a load with a rate. */
  latencies: number[]
}

/** A connection with at most one open request: no request waits for another one. */
class Connection {
  readonly #socket: Socket
  readonly #message: string
  #head = ''
  #missing = -1
  #status = 0
  #settle: ((status: number) => void) | null = null
  #fail: ((error: Error) => void) | null = null

  constructor (port: number, message: string) {
    this.#message = message
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true })
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('error', (error) => this.#fail?.(error))
    this.#socket.on('close', () => this.#fail?.(new Error('The server has closed the connection')))
  }

  /** Resolves to the status of the response. */
  request (): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
      this.#socket.write(this.#message)
    })
  }

  end (): void {
    this.#fail = null
    this.#socket.destroy()
  }

  #read (chunk: Buffer): void {
    let body = chunk.length
    if (this.#missing === -1) {
      this.#head += chunk.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end === -1) return
      body = this.#head.length - end - 4
      this.#status = Number(this.#head.slice(9, 12))
      const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)
      if (length === null) throw new Error(`A response without a length: ${this.#head.slice(0, end)}`)
      this.#missing = Number(length[1])
      this.#head = ''
    }
    this.#missing -= body
    if (this.#missing > 0) return
    this.#missing = -1
    this.#settle?.(this.#status)
  }
}

async function run ({ port, requests, connections, path, headers, rate }: Load): Promise<Loaded> {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const message = `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
  const all = Array.from({ length: connections }, () => new Connection(port, message))
  const latencies: number[] = []
  let sent = 0
  let same = 0
  let status = 0
  const count = (found: number): void => {
    if (status === 0) status = found
    if (found === status) same++
  }
  const since = performance.now()
  // Waking a client that sleeps is a system call of the server, and would count as its CPU time. Where latencies are
  // measured, a client that never sleeps would take a processor from the other threads of the server.
  let isOver = false
  const stayAwake = (): void => { if (!isOver) setImmediate(stayAwake) }
  if (rate === undefined) stayAwake()
  const clock = rate === undefined ? null : startClock(requests, rate)
  await Promise.all(all.map(async (connection) => {
    while (sent < requests) {
      sent++
      // A request that is due while all connections are busy is sent later, which counts as its latency.
      const due = clock === null ? 0 : await clock()
      count(await connection.request())
      if (clock !== null) latencies.push(now() - due)
    }
  }))
  const elapsed = performance.now() - since
  isOver = true
  for (const connection of all) connection.end()
  return { elapsed, same, status, latencies: latencies.sort((a, b) => a - b) }
}

// Timers have a resolution of a millisecond; a thread can sleep for less.
const CLOCK = `
  const { parentPort, workerData: { requests, rate } } = require('node:worker_threads')
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const since = performance.now()
  for (let i = 0; i < requests; i++) {
    const due = since + i / rate * 1_000
    Atomics.wait(cell, 0, 0, Math.max(0, due - performance.now()))
    parentPort.postMessage(performance.timeOrigin + due)
  }
`

/** Returns a function that resolves when the next request is due, to that time. */
function startClock (requests: number, rate: number): () => Promise<number> {
  const times = on(new Worker(CLOCK, { eval: true, workerData: { requests, rate } }), 'message')
  return async () => ((await times.next()).value as [number])[0]
}

/** Milliseconds, comparable between threads. */
function now (): number {
  return performance.timeOrigin + performance.now()
}

process.on('message', (load: Load) => {
  run(load).then((loaded) => process.send?.(loaded), (error: unknown) => process.send?.({ error: String(error) }))
})
process.on('disconnect', () => process.exit())
