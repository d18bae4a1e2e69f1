import { options } from './preload.js'

// The preload, `node --import fastify-hindsight/register app.js`; `node --require` loads register.cjs. The modules are
// loaded before the application: Node.js 20 cannot require an ES module while it is being imported.
if (options.debug === true) {
  await import('./observer.js').catch(() => {})
  const { watchStart } = await import('./failed-start.js')
  watchStart()
}
