import { connect, type Socket } from 'node:net'

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
  // Requests are due at a fixed rate: a late response delays the next request, which counts as its latency.
  await Promise.all(all.map(async (connection) => {
    while (sent < requests) {
      const due = rate === undefined ? 0 : since + sent++ / rate * 1_000
      if (rate === undefined) sent++
      else await until(due)
      count(await connection.request())
      if (rate !== undefined) latencies.push(performance.now() - due)
    }
  }))
  const elapsed = performance.now() - since
  isOver = true
  for (const connection of all) connection.end()
  return { elapsed, same, status, latencies: latencies.sort((a, b) => a - b) }
}

// The resolution of timers is a millisecond.
async function until (due: number): Promise<void> {
  const wait = due - performance.now()
  if (wait > 2) await new Promise((resolve) => { setTimeout(resolve, wait - 1) })
  while (performance.now() < due) await new Promise((resolve) => { setImmediate(resolve) })
}

process.on('message', (load: Load) => {
  run(load).then((loaded) => process.send?.(loaded), (error: unknown) => process.send?.({ error: String(error) }))
})
process.on('disconnect', () => process.exit())
