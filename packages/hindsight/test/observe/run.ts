import { pathToFileURL } from 'node:url'
// Fastify requires it with the first `inject`. Node.js 20 fails where that happens while the ES modules of the sources are
// imported, as both load `set-cookie-parser`. The built package is CommonJS: it imports nothing.
import 'light-my-request'
import { inTime } from './in-time.js'
import { observe, type Observations, type Prepare } from './observe.js'

/** Milliseconds for a variant. */
const TIMEOUT = 120_000

// Runs in a process of its own: prints what is observed of the application as JSON. Arguments: a module whose default export
// prepares each application, or `bare`; then names of variants.
const [preparation = 'bare', ...names] = process.argv.slice(2)
const prepare = preparation === 'bare' ? undefined : (await import(pathToFileURL(preparation).href) as { default: Prepare }).default
const observations: Observations = {}
for (const name of names) {
  try {
    observations[name] = await inTime(observe(name, prepare), TIMEOUT)
  } catch (error) {
    observations[name] = { failure: String(error) }
  }
}
// `injectWS` leaves a timer of 30 seconds.
process.stdout.write(JSON.stringify(observations), () => { process.exit() })
