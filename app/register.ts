import { attachToAll } from './attach.js'
import { attachOptions } from './attach-options.js'

// The preload, `node --import fastify-hindsight/register app.js`: outside debug mode (`NODE_ENV=production`) it does nothing, unless `PROFILER` says so.
const options = attachOptions()
if (options !== null) attachToAll(options)
