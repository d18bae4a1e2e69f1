'use strict'

// The preload, `node --import fastify-hindsight/register app.js` or `--require`.
if (require('./preload.cjs').options.debug) require('./failed-start.cjs').watchStart()
