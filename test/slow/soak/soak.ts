import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SoakFigures } from './server.js'

export interface SoakOptions {
  /** Milliseconds in all. */
  duration: number
  /** A busy machine continues until it has sent so many requests. */
  minRequests?: number
  /** Milliseconds from one look at the process to the next. */
  interval: number
  /** Requests a second. */
  rate: number
  /** The bound of the store. */
  maxProfiles: number
  progress?: (figures: Sample) => void
}

export interface Sample extends SoakFigures {
  /** Seconds since the beginning. */
  at: number
  requests: number
  /** Unexpected answers: another status, or none. */
  unexpected: number
  /** Profiles that were acknowledged, looked for before they could be evicted, and not found. */
  lost: number
  /** How many were looked for. */
  looked: number
}

interface Call {
  path: string
  status: number
  method?: string
  body?: string
  headers?: Record<string, string>
  /** The client disconnects before the answer. */
  abort?: boolean
}

const html = { accept: 'text/html' }
/** The mixture: each of them as often as it stands here. */
const CALLS: readonly Call[] = [
  { path: '/hello', status: 200 }, { path: '/hello', status: 200, headers: { origin: 'https://app.example' } }, { path: '/hello', status: 200 },
  { path: '/item/1', status: 200 }, {
    path: '/item/RANDOM?token=secret-RANDOM', status: 200
  }, { path: '/lines/5', status: 200 }, { path: '/lines/60', status: 200 },
  { path: '/page', status: 200, headers: { ...html, 'sec-fetch-dest': 'document' } }, { path: '/stream', status: 200 }, { path: '/session', status: 200 },
  { path: '/fail/3', status: 500, headers: html }, { path: '/fail/20', status: 500 }, {
    path: '/nowhere/RANDOM', status: 404, headers: html
  }, { path: '/hello/', status: 301 },
  {
    path: '/echo', status: 200, method: 'POST', body: '{"name":"RANDOM","password":"RANDOM"}'
  }, { path: '/echo', status: 400, method: 'POST', body: '{"broken' },
  { path: '/slow', status: 200, abort: true }, { path: '/_profiler/latest', status: 302, headers: html }
]

/** Keeps a service in a process of its own busy, and looks at it now and then. */
export async function soak ({ duration, minRequests = 0, interval, rate, maxProfiles, progress = () => {} }: SoakOptions): Promise<Sample[]> {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-soak-'))
  const service = fork(
    join(import.meta.dirname, 'server.ts'), [folder, String(maxProfiles)],
    { execArgv: ['--enable-source-maps', '--import=tsx', '--expose-gc'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }
  )
  const ended = new AbortController()
  service.on('exit', (code, signal) => ended.abort(new Error(`The service has ended: ${code ?? signal}`)))
  const agent = new Agent({ keepAlive: true, maxSockets: 50 })
  const samples: Sample[] = []
  const counts = { requests: 0, unexpected: 0, lost: 0, looked: 0 }
  const tokens: string[] = []
  // One session for all: abandoned sessions are kept up to a limit.
  const jar = { cookie: '' }
  const ask = async <T>(token: string): Promise<T> => {
    service.send(token)
    const [answer] = await once(service, 'message', { signal: ended.signal }) as [T]
    return answer
  }
  try {
    const [{ port }] = await once(service, 'message', { signal: ended.signal }) as [{ port: number }]
    const since = performance.now()
    const elapsed = (): number => performance.now() - since
    for (let next = interval; elapsed() < duration || counts.requests < minRequests; next += interval) {
      do {
        ended.signal.throwIfAborted()
        const calls = Math.max(1, Math.round(rate / 20))
        await Promise.all([sleep(50), ...Array.from({ length: calls }, async () => {
          const call = CALLS[counts.requests++ % CALLS.length] as Call
          const token = await send(port, agent, call, jar)
          if (token === null) counts.unexpected++
          else if (token !== '') tokens.push(token)
        })])
      } while (elapsed() < Math.min(next, duration))
      const figures = await ask<SoakFigures>('')
      // Failures and successes have bounds of their own: the newest few are there whichever they are.
      for (const token of tokens.splice(0).slice(-Math.ceil(maxProfiles / 20))) {
        counts.looked++
        if (!(await ask<{ found: boolean }>(token)).found) counts.lost++
      }
      const sample = { at: Math.round(elapsed() / 1_000), ...counts, ...figures }
      samples.push(sample)
      progress(sample)
    }
    return samples
  } finally {
    service.removeAllListeners('exit')
    agent.destroy()
    service.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

// The token of the answer, or nothing where it has none; null where the answer is another one than was to be expected.
function send (
  port: number, agent: Agent, { path, status, method = 'GET', body, headers = {}, abort = false }: Call, jar: { cookie: string }
): Promise<string | null> {
  const random = String(Math.random()).slice(2)
  return new Promise((resolve) => {
    const sent = request({
      port,
      agent,
      method,
      path: path.replaceAll('RANDOM', random),
      headers: {
        ...headers, ...(path === '/session' && jar.cookie !== '' && { cookie: jar.cookie }), ...(body !== undefined && { 'content-type': 'application/json' })
      },
      timeout: 20_000
    }, (response) => {
      response.resume()
      if (jar.cookie === '') jar.cookie = response.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? ''
      response.on('end', () => resolve(response.statusCode === status ? String(response.headers['x-debug-token'] ?? '') : null))
      response.on('error', () => resolve(null))
    })
    sent.on('error', () => resolve(abort ? '' : null))
    sent.on('timeout', () => sent.destroy())
    sent.end(body?.replaceAll('RANDOM', random))
    if (abort) setTimeout(() => { sent.destroy(); resolve('') }, 10)
  })
}

/** What is wrong with a run: nothing where memory and file stay as they are from a third of the time on, and nothing was lost. */
export function findings (samples: readonly Sample[]): string[] {
  const settled = samples.slice(Math.floor(samples.length / 3))
  const last = settled.at(-1)
  if (last === undefined || settled.length < 3) return ['too short to say anything']
  const found: string[] = []
  // A single look may come while something large is under way: the median of the beginning against that of the end.
  const third = Math.max(1, Math.floor(settled.length / 3))
  const growth = (of: (sample: Sample) => number): number => median(settled.slice(-third).map(of)) / median(settled.slice(0, third).map(of)) - 1
  const heap = growth(({ heap }) => heap)
  const file = growth(({ file }) => file)
  if (heap > 0.05) found.push(`the heap has grown by ${(heap * 100).toFixed(1)} %`)
  if (file > 0.05) found.push(`the file of the store has grown by ${(file * 100).toFixed(1)} %`)
  if (last.lost > 0) found.push(`${last.lost} of ${last.looked} profiles were lost`)
  if (last.dropped + last.failed > 0) found.push(`${last.dropped} profiles were dropped, ${last.failed} failed`)
  if (last.unexpected > 0) found.push(`${last.unexpected} of ${last.requests} answers were not as expected`)
  return found
}

function median (values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN
}
