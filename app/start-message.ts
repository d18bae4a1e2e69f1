import cluster from 'node:cluster'
import type { FastifyInstance } from 'fastify'
/** Prints the address of the profiler: in `full` mode to the log, in `observe` mode to a terminal. */
export function addStartMessage (
  app: FastifyInstance, stderr: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr
): void {
  app.addHook('onListen', function printAddress (done) {
    const { mode, profilerUrl } = app.hindsight
    if (profilerUrl !== null) {
      const message = `Profiler: ${profilerUrl}`
      const isInteractive = stderr.isTTY === true && !cluster.isWorker && process.env.NODE_ENV !== 'test'
      if (mode === 'full') app.log.info({ channel: 'profiler' }, message)
      else if (isInteractive) stderr.write(`${message}\n`)
    }
    done()
  })
}
