import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { ServiceSettings } from './service.js'

export interface Figures {
  rss: number
  /** Bytes of the heap and of what it points to, after a garbage collection. */
  memory: number
  connections: number
  counters: { written: number, dropped: number, failed: number } | null
}

export interface Service {
  port: number
  process: ChildProcess
  figures: () => Promise<Figures>
}

/** Starts `service.ts` as a process; it ends with the test. */
export async function startService (t: Pick<Test, 'teardown'>, settings: ServiceSettings = {}, execArgv: string[] = [], maxBlocks?: number): Promise<Service> {
  const args = [...execArgv, '--import=tsx', '--expose-gc', join(import.meta.dirname, 'service.ts')]
  const env = { ...process.env, SERVICE: JSON.stringify(settings) }
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const
  // Files that it writes may be so large: blocks of 512 bytes.
  const child = maxBlocks === undefined
    ? spawn(process.execPath, args, { env, stdio: [...stdio] })
    : spawn('sh', ['-c', `ulimit -f ${maxBlocks}; exec "$0" "$@"`, process.execPath, ...args], { env, stdio: [...stdio] })
  t.teardown(() => { child.kill('SIGKILL') })
  // A pending request is rejected with the reason of the end.
  const ended = once(child, 'exit').then(([code, signal]) => { throw new Error(`The service ended: ${String(signal ?? code)}`) })
  ended.catch(() => {})
  const answer = async (): Promise<unknown> => (await Promise.race([once(child, 'message'), ended]))[0]
  const { port } = await answer() as { port: number }
  return {
    port,
    process: child,
    figures: async () => {
      child.send('figures')
      return await answer() as Figures
    }
  }
}

export interface Client {
  /** What is sent first, as Latin-1. */
  bytes: string
  /** Sent again and again, until the connection is closed. */
  then?: string
  /** Milliseconds from one to the next. */
  every?: number
}

/**
 * Sends with the given speed and size, and reads until the server closes the connection. Node.js closes a socket whose write
 * fails before it has read what arrived: so it reads before it writes; where the answer is lost all the same, it sends again.
 */
export async function converse (port: number, client: Client, tries = 3): Promise<string> {
  const { bytes, then, every = 20 } = client
  const socket = connect(port, '127.0.0.1')
  let received = ''
  let isLost = false
  socket.setEncoding('latin1').on('data', (text: string) => { received += text })
  socket.on('error', ({ syscall, code }: NodeJS.ErrnoException) => { isLost = (syscall === 'write' || code === 'ECONNRESET') && received === '' })
  socket.write(bytes, 'latin1')
  const send = (): void => { if (socket.writable && socket.writableLength < 1e6) socket.write(then as string, 'latin1') }
  const timer = then === undefined ? undefined : setInterval(() => setImmediate(send), every)
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(timer)
  return isLost && tries > 1 ? await converse(port, client, tries - 1) : received
}

/** Sends, and reads nothing. */
export async function ignore (port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(bytes, 'latin1')
  await once(socket, 'connect')
  return socket
}

/** Asks until the answer is as it should be; tap's own time limit ends it. */
export async function until<T> (ask: () => Promise<T>, isFine: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (isFine(answer)) return answer
    await sleep(50)
  }
}
