// Prints whether the application of a file is repaired: node check-app.js <name> <app.js> [log file]
import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [name, file, logFile] = process.argv.slice(2)
const { default: check } = await import(`./apps/${name}/check.js`)
const { build } = await import(pathToFileURL(resolve(file)).href)
// Written at once: the process ends without waiting for a stream.
const stream = { write: (line) => appendFileSync(logFile, line) }
const app = build(logFile === undefined ? {} : { logger: { stream } })
const timer = setTimeout(() => end(1, 'It has not ended within 20 seconds.'), 20_000)
process.on('unhandledRejection', (error) => end(1, error))
await check(app).then(() => end(0, 'repaired'), (error) => end(1, error))

function end (code, reason) {
  clearTimeout(timer)
  console.log(reason instanceof Error ? reason.message : reason)
  app.close().catch(() => {}).finally(() => process.exit(code))
}
