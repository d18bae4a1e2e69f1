import { options } from './preload.js'

// The preload, `node --import fastify-hindsight/register app.js`. The modules are loaded before the application: Node.js 20 cannot require an ES module
// while an import of the same module is under way. `node --require` loads register.cjs.
if (options.debug === true) await import('./observer.js').catch(() => {})
