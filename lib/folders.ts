import { join, sep } from 'node:path'
import { addInternalFolder } from 'fastify-hindsight/recorder'

// The code of the service is not the application's, which is in `routes/`: also where an error comes before the start.
for (const folder of ['app', 'lib', 'plugins']) addInternalFolder(join(import.meta.dirname, '..', folder, sep))
