'use strict'

// The preload for `node --require`, which cannot load an ES module with a top-level await.
if (require('./preload.js').options.debug) require('./failed-start.js').watchStart()
