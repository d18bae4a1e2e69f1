'use strict'

// The preload for `node --require`, which cannot load an ES module with a top-level await.
require('./preload.js')
