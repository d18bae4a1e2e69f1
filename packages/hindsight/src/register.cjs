'use strict'

// The preload, `node --import fastify-hindsight/register app.js` or `--require`.
const { options } = require('./preload.cjs')
if (options.debug) require('./failed-start.cjs').watchStart()
if (options.debug && options.queries !== false) require('./drivers.cjs').prepareDrivers()
