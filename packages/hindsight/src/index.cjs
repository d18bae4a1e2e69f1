'use strict'

const fp = require('fastify-plugin')

// tsx compiles required ES modules to CommonJS and leaves `import()` as it is, so a module that is both required and
// imported exists twice. The plugin therefore imports the package, and all exports are then those of the import.
let exported = {}
try {
  exported = require('#index')
} catch (error) {
  // Yarn Plug'n'Play cannot require ES modules from its archives, and can import them: the plugin works.
  if (process.versions.pnp === undefined) throw error
}

let importing
const hindsight = fp(async function hindsight (app, options) {
  // Each application of a test suite would resolve it again, in half a millisecond.
  importing ??= import('#index')
  exported = await importing
  await exported.hindsight(app, options)
}, { fastify: '5.x', name: 'fastify-hindsight' })
const meta = Symbol.for('plugin-meta')
let { [meta]: own } = hindsight
Object.defineProperty(hindsight, meta, {
  get () {
    // The plugin of the package keeps where it is registered.
    Reflect.get(exported.hindsight ?? {}, meta)
    return own
  },
  set (given) { own = given }
})

module.exports = Object.assign(hindsight, { hindsight, default: hindsight })
for (const name of Object.keys(exported)) {
  if (name in hindsight || name === '__esModule') continue
  Object.defineProperty(hindsight, name, { enumerable: true, get: () => exported[name] })
}
