'use strict'

// The preload, `node --import fastify-hindsight/register app.js` or `--require`.
const { options } = require('./preload.cjs')
if (options.debug) require('./failed-start.cjs').watchStart()
if (options.debug) require('./drivers.cjs').prepareDrivers(options.queries !== false, options.profiler !== false)
// The ES module waits for it: a script may end before anything asynchronous.
exports.ready = options.debug ? require('./process-job.cjs').watchProcess(options) : undefined
