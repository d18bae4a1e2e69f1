'use strict'

const fp = require('fastify-plugin')

// What turns ES modules into CommonJS as they are required (tsx does) leaves import() as it is, and what is imported so has its modules a second time.
// Imported as a whole the lifecycle has each of them once; from then on all that is exported is of that time.
let exported = require('#index')

const hindsight = fp(async function hindsight (app, options) {
  exported = await import('#index')
  await exported.hindsight(app, options)
}, { fastify: '5.x', name: 'fastify-hindsight' })

const own = { hindsight, default: hindsight, __esModule: true }
for (const name of Object.keys(exported)) {
  if (!(name in own)) Object.defineProperty(module.exports, name, { enumerable: true, get: () => exported[name] })
}
Object.assign(module.exports, own)
