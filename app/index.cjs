'use strict'

const fp = require('fastify-plugin')

// A loader that compiles required ES modules to CommonJS (tsx) leaves import() as it is: a module that is both required and imported exists twice. So
// the plugin imports the package as a whole, and from then on all exports are those of the imported modules.
let exported = require('#index')

const hindsight = fp(async function hindsight (app, options) {
  exported = await import('#index')
  await exported.hindsight(app, options)
}, { fastify: '5.x', name: 'fastify-hindsight' })

module.exports = hindsight
module.exports.hindsight = hindsight
module.exports.default = hindsight
for (const name of Object.keys(exported)) {
  if (!(name in hindsight) && name !== '__esModule') Object.defineProperty(hindsight, name, { enumerable: true, get: () => exported[name] })
}
