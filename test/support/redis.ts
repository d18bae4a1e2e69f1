import { once } from 'node:events'
import { connect } from 'node:net'
import type { Test } from 'tap'
import { takePort } from './ports.js'
import { findProgram, missing, serverFolder, startServer } from './server-process.js'

/** Starts a Redis server, which is stopped after the test; null, and the test is skipped, where there is none. */
export async function redisServer (t: Test): Promise<{ port: number } | null> {
  const program = findProgram('redis-server')
  if (program === null) return missing(t, 'Redis', 'no Redis: install it (on Debian: apt-get install redis-server)')
  const folder = serverFolder(t, 'redis')
  const port = await takePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  const isReady = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
    } finally {
      socket.destroy()
    }
  }
  await startServer(t, program, args, { folder, isReady })
  return { port }
}
