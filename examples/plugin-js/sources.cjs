const fp = require('fastify-plugin')

// The package of this repository is TypeScript, whose modules tsx would load twice, as CommonJS and as ES modules.
module.exports = fp(async function hindsight (app, options) {
  const { hindsight } = await import('../../packages/hindsight/src/index.ts')
  await hindsight(app, options)
})
