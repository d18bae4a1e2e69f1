import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { quartiles } from './pair.js'
import { Client, Server } from './processes.js'

const CONNECTIONS = 10
const PROFILED = 10_000

const SHARES = { p50: 0.5, p90: 0.9, p99: 0.99 } as const
type Share = keyof typeof SHARES

/**
 * The time to an answer at half of the rate that debug mode takes at most, in milliseconds: of debug mode, and of bare Fastify. Where that can be done it is
 * asked for a second time with the client on a processor of its own: what both want at once is one of a machine's few.
 */
export async function latency (quick: boolean): Promise<Record<string, number>> {
  return { ...await latencies(quick, false), ...cpus().length > 1 ? await latencies(quick, true) : {} }
}

async function latencies (quick: boolean, apart: boolean): Promise<Record<string, number>> {
  const client = new Client()
  const debug = await Server.start('hindsight:debug', { production: false })
  const bare = await Server.start('fastify:bare')
  const rounds: Array<Record<'debug' | 'bare', Record<Share, number>>> = []
  try {
    if (apart && ![debug.keepTo(0), bare.keepTo(0), client.keepTo(1)].every(Boolean)) return {}
    const ask = (server: Server, requests: number, rate?: number) =>
      client.load({ port: server.port, requests, connections: CONNECTIONS, path: '/', headers: {}, ...(rate !== undefined && { rate }) })
    const measured = async (server: Server): Promise<Record<Share, number>> => {
      const { latencies } = await ask(server, rate * 2, rate)
      return Object.fromEntries(Object.entries(SHARES).map(([name, share]) => [name, latencies[Math.floor(latencies.length * share)] ?? NaN])) as Record<Share, number>
    }
    await ask(bare, 10_000)
    await ask(debug, 10_000)
    const { elapsed } = await ask(debug, 10_000)
    const rate = 10_000 / elapsed * 1_000 / 2
    for (let pair = 0; pair < (quick ? 3 : 9); pair++) rounds.push({ debug: await measured(debug), bare: await measured(bare) })
    const where = apart ? ', client apart' : ''
    const found: Record<string, number> = { [`requests a second${where}`]: Math.round(rate) }
    for (const share of Object.keys(SHARES) as Share[]) {
      for (const side of ['debug', 'bare'] as const) found[`${share} ${side}, ms${where}`] = quartiles(rounds.map((round) => round[side][share])).median
    }
    return { ...found, [`p99 debug / bare${where}`]: quartiles(rounds.map(({ debug, bare }) => debug.p99 / bare.p99)).median }
  } finally {
    client.close()
    await Promise.all([debug.close(), bare.close()])
  }
}

/** Megabytes that processes hold when they begin to listen, and when they have answered 10,000 requests; and what a profile holds that waits. */
export async function memory (): Promise<Record<string, number>> {
  const client = new Client()
  const found: Record<string, number> = {}
  for (const variant of ['fastify:bare', 'hindsight:production', 'hindsight:debug']) {
    const server = await Server.start(variant, { production: variant !== 'hindsight:debug', flags: ['--expose-gc'] })
    found[`${variant}, MB resident at the start`] = Math.round((await server.usage()).resident / 1e5) / 10
    await client.load({ port: server.port, requests: PROFILED, connections: CONNECTIONS, path: '/', headers: {} })
    const { resident, heap } = await server.usage()
    found[`${variant}, MB resident`] = Math.round(resident / 1e5) / 10
    found[`${variant}, MB of heap`] = Math.round(heap / 1e5) / 10
    if (variant === 'hindsight:debug') {
      const held = await server.held()
      found['a profile that waits, bytes of heap'] = Math.round(held.heap)
      found['a profile that waits, bytes of buffers'] = Math.round(held.buffers)
    }
    await server.close()
  }
  client.close()
  return found
}

/** Milliseconds from the start of a process until it listens: the service in both modes, and Fastify with the stock plugins. */
export async function startUp (quick: boolean): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-bench-'))
  const environment = { DATA_DIR: folder, PORT: '0', SESSION_SECRET: 'x'.repeat(40), LOG_LEVEL: 'info' }
  const root = join(import.meta.dirname, '..')
  const starts: Record<string, { args: string[], env: NodeJS.ProcessEnv }> = {
    stock: { args: ['--import=tsx', join(root, 'bench/stock-server.ts')], env: environment },
    production: { args: ['--enable-source-maps', '--import=tsx', join(root, 'app/server.ts')], env: { ...environment, NODE_ENV: 'production' } },
    debug: { args: ['--enable-source-maps', '--import=tsx', join(root, 'app/server.ts')], env: { ...environment, NODE_ENV: 'development' } }
  }
  const times: Record<string, number[]> = { stock: [], production: [], debug: [] }
  try {
    for (let round = 0; round < (quick ? 4 : 12); round++) {
      for (const [name, { args, env }] of Object.entries(starts)) {
        const since = performance.now()
        const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
        for await (const chunk of child.stdout) if (String(chunk).includes('listening')) break
        // The first of each fills the caches of tsx.
        if (round > 0) times[name]?.push(performance.now() - since)
        // Nothing is to be saved, and nobody reads any more what it says.
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const medians = Object.fromEntries(Object.entries(times).map(([name, values]) => [`${name}, ms`, Math.round(quartiles(values).median)]))
  return { ...medians, 'production / stock': (medians['production, ms'] ?? NaN) / (medians['stock, ms'] ?? NaN), 'debug / stock': (medians['debug, ms'] ?? NaN) / (medians['stock, ms'] ?? NaN) }
}
