import cluster from 'node:cluster'
import type { FastifyInstance } from 'fastify'
import type {} from '../lib/lifecycle/services.js'

declare module '../lib/lifecycle/services.js' {
  interface Services {
    /** The address of the profiler, with a slash at the end; absent where the server does not listen on a port. */
    profilerUrl?: string
  }
}

/** Prints the address of the profiler: in `full` mode to the log, in `observe` mode to a terminal. */
export function addStartMessage (
  app: FastifyInstance, stderr: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr
): void {
  app.addHook('onListen', function printAddress (done) {
    const { hindsight } = app
    const origin = app.listeningOrigin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
    // A Unix socket has a path.
    if (origin.startsWith('http')) {
      hindsight.profilerUrl = `${origin}${hindsight.base}/_profiler/`
      const message = `Profiler: ${hindsight.profilerUrl}`
      const isInteractive = stderr.isTTY === true && !cluster.isWorker && process.env.NODE_ENV !== 'test'
      if (hindsight.mode === 'full') app.log.info({ channel: 'profiler' }, message)
      else if (isInteractive) stderr.write(`${message}\n`)
    }
    done()
  })
}
