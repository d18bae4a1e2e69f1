import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'

type Environment = Record<string, string | undefined>

const PLACES = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/usr/bin/valkey-server', '/usr/local/bin/valkey-server']

const MISSING = 'no Redis: install it (on Debian: apt-get install redis-server), or put the path of its server into REDIS_SERVER'

/** A Redis of our own, which keeps nothing on the disk. */
export interface RedisServer {
  port: number
  url: string
  /** Stops it as `kill -9` does: what it knew is lost. */
  stop: () => Promise<void>
  /** Starts it on the same port, empty. */
  start: () => Promise<void>
  /** Holds it, as a machine that hangs: connections stand, and nothing is answered. */
  pause: () => void
  resume: () => void
}

/** The path of the server that `redisServer` starts; undefined: there is none on this machine. */
export function findRedis (env: Environment = process.env): string | undefined {
  // A path that somebody has named and that is wrong must not be replaced silently by another server.
  if (env.REDIS_SERVER) return existsSync(env.REDIS_SERVER) ? env.REDIS_SERVER : undefined
  return PLACES.find((place) => existsSync(place))
}

/**
 * A Redis for a test, stopped when that test ends. Where there is none, CI fails; elsewhere the test is marked as
 * skipped, saying what to install, and null is returned: `const redis = await redisServer(t); if (!redis) return`.
 */
export async function redisServer (t: Test, args: readonly string[] = [], env: Environment = process.env): Promise<RedisServer | null> {
  const path = findRedis(env)
  if (path === undefined) {
    if (env.CI) throw new Error(MISSING)
    t.pass('a Redis is here', { skip: MISSING })
    return null
  }
  const dir = mkdtempSync(join(tmpdir(), 'hindsight-redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = spawn(path, ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--port', String(port), '--dir', dir, ...args], { stdio: 'ignore' })
    while (!await answers(port)) {
      if (child.exitCode !== null) throw new Error(`${path} has ended with ${child.exitCode}`)
      await delay(20)
    }
  }
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(async () => {
    await stop()
    rmSync(dir, { recursive: true, force: true })
  })
  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    pause: () => { child?.kill('SIGSTOP') },
    resume: () => { child?.kill('SIGCONT') }
  }
}

async function freePort (): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function answers (port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => { socket.destroy(); resolve(true) })
    socket.once('error', () => { resolve(false) })
  })
}
