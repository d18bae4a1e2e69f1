// The types of `require('fastify-hindsight/full')`: CommonJS can import only the types of an ES module.
import hindsight = require('../packages/hindsight/src/index.cjs')
import type {} from './full-mode.js' with { 'resolution-mode': 'import' }

export = hindsight
