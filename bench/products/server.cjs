'use strict'
// A process of the table of products: one application with one product.
const { readFileSync } = require('node:fs')
const applications = require('./applications.cjs')

const [, , product, application] = process.argv

/** How a product is added to an application; the others are added by flags of Node.js. */
const PLUGINS = {
  'hindsight-production': (app) => app.register(require('../../packages/hindsight/dist/index.cjs')),
  'hindsight-debug': (app) => app.register(require('../../packages/hindsight/dist/index.cjs'), {
    profiler: { storage: 'sqlite', dataDir: process.env.BENCH_FOLDER }
  }),
  youch: (app) => {
    const youch = import('youch')
    return app.setErrorHandler(async (error, request, reply) => {
      request.log.error({ err: error })
      const { Youch } = await youch
      const html = await new Youch().toHTML(error, { request: request.raw })
      return reply.code(500).type('text/html; charset=utf-8').send(html)
    })
  }
}

function add (app) {
  PLUGINS[product]?.(app)
  return app
}

// Loaded by the applications that have queries only.
const observe = (client) =>
  product.startsWith('hindsight') ? require('../../packages/hindsight/dist/queries.cjs').observe(client) : client
const app = applications[application](add, observe)
app.listen({ host: '127.0.0.1', port: 0 }).then(() => {
  const { user, system } = process.cpuUsage()
  process.send({ port: app.server.address().port, start: { cpu: (user + system) / 1_000, elapsed: performance.now() } })
})

process.on('message', async (question) => {
  if (question === 'close') {
    await app.close()
    process.exit()
  }
  // The writing of profiles is part of the cost of their requests. Profiles that were dropped would have cost nothing.
  const profiler = app.hasDecorator('hindsight') ? app.hindsight.profiler : undefined
  await profiler?.flush()
  const { dropped = 0, failed = 0 } = profiler?.queue.counters ?? {}
  if (dropped + failed > 0) process.send({ error: `${dropped + failed} profiles were not written` })
  const { user, system } = process.cpuUsage()
  const main = Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  process.send({ cpu: user + system, main, memory: process.memoryUsage.rss() })
})
process.on('disconnect', () => process.exit())
