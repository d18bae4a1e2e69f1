import { quartiles } from './pair.js'
import { Client, Server } from './processes.js'

const CONNECTIONS = 10
const RATE = 1_000
/** The most milliseconds by which the p99 of debug mode may be above that of bare Fastify. */
export const LATENCY_GOAL = 3

/** The p99 at 1,000 requests a second, in milliseconds: medians of rounds that take turns. */
export async function latency (rounds: number): Promise<{ debug: number, bare: number, difference: number }> {
  const client = new Client()
  const debug = await Server.start('hindsight:debug', { production: false })
  const bare = await Server.start('fastify:bare')
  const load = { connections: CONNECTIONS, path: '/', headers: {} }
  const p99 = async ({ port }: Server): Promise<number> => {
    const { latencies } = await client.load({ ...load, port, requests: RATE * 2, rate: RATE })
    return latencies[Math.floor(latencies.length * 0.99)] ?? NaN
  }
  try {
    for (const { port } of [bare, debug]) await client.load({ ...load, port, requests: 30_000 })
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      ours.push(await p99(debug))
      theirs.push(await p99(bare))
    }
    const difference = quartiles(ours.map((value, i) => value - (theirs[i] ?? NaN))).median
    return { debug: quartiles(ours).median, bare: quartiles(theirs).median, difference }
  } finally {
    client.close()
    await Promise.all([debug.close(), bare.close()])
  }
}
