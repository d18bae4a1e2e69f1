import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { outcomeSentence } from '../../src/parts/overview/index.js'
import { profileMarkdown } from '../support/marks.js'
import { get, listen, newest, profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const LINE = readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((text) => text.endsWith(' // load')) + 1
const PLACE = `packages/hindsight/test/logs/logged-error.test.ts:${LINE}`

function loadError (): Error {
  return new Error('no bottle') // load
}

type Note = (request: FastifyRequest, error: Error) => void
const FORMS: Record<string, Note> = {
  error: ({ log }, error) => log.error(error),
  fatal: ({ log }, err) => log.fatal({ err }, 'Loading failed.'),
  key: ({ log }, error) => log.error({ error }, 'Loading failed.'),
  other: ({ log }, reason) => log.error({ reason }),
  child: ({ log }, error) => log.child({ part: 'shop' }).error(error),
  last: ({ log }, error) => {
    log.error(new Error('the first of two'))
    log.error(new Error('rethrown', { cause: error }))
  }
}
// Node.js 22 and later publish these lines.
const hasConsole = Number.parseInt(process.versions.node, 10) >= 22
if (hasConsole) FORMS.console = (_request, error) => console.error('Loading failed:', error)

for (const isOn of [true, false]) {
  inBothProducts(`an error that was logged explains a response with 500, logger ${isOn ? 'on' : 'off'}`, async (t, build) => {
    t.intercept(console, 'error', { value () {} })
    const app = await build((app) => {
      for (const [name, note] of Object.entries(FORMS)) {
        app.get(`/${name}/:status`, (request: FastifyRequest<{ Params: { status: number } }>, reply) => {
          note(request, loadError())
          return reply.code(Number(request.params.status)).send({ error: 'Something went wrong.' })
        })
      }
      app.get('/warn', ({ log }, reply) => {
        log.warn(loadError())
        return reply.code(500).send('x')
      })
      app.get('/thrown', ({ log }) => {
        log.error(loadError())
        throw new Error('thrown')
      })
    }, {}, isOn ? {} : { logger: false })
    for (const name of Object.keys(FORMS).filter((name) => isOn || /^(?:error|key|other)$/.test(name))) {
      const profile = await profileOf(app, await app.inject(`/${name}/500`))
      const by = isOn ? 'The log has' : 'The logger is off; it received'
      const error = name === 'last' ? `Error: rethrown (${PLACE.replace(/:\d+$/, '')}` : `Error: no bottle (${PLACE}).`
      t.match(outcomeSentence(profile), 'GET returned 500 Internal Server Error in ', name)
      t.match(outcomeSentence(profile), `. ${by} ${error}`, name)
      t.match(profile.exceptions[0], { message: 'no bottle', logged: by, frames: [{ line: LINE }] }, name)
      t.match(profileMarkdown(profile), 'The application has logged this error; it was not thrown to Fastify.', name)
      const found = await app.inject('/_profiler/search.json?error=1&exception=no+bottle')
      t.match(found.json(), { profiles: [{ url: new RegExp(`/${name}/500$`), exception: 'Error: no bottle' }] }, name)
      const success = await profileOf(app, await app.inject(`/${name}/200`))
      t.match([success.exceptions, outcomeSentence(success)], [[], /^GET returned 200 OK in \S+ \S+?\.$/], name)
    }
    t.same((await profileOf(app, await app.inject('/warn'))).exceptions, [])
    t.match((await profileOf(app, await app.inject('/thrown'))).exceptions, [{ message: 'thrown', logged: undefined }])
  })
}

inBothProducts('an error that an upgraded connection has logged is in its profile', async (t, build) => {
  let closed: Promise<unknown> | undefined
  const app = await build((app) => {
    app.get('/feed', (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack()
      closed = once(reply.raw, 'close')
      request.raw.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: feed\r\n\r\n')
      setImmediate(() => {
        request.log.error(loadError())
        request.raw.socket.end()
      })
    })
  })
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /feed HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: feed\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
  await closed
  const profile = await newest(app)
  t.equal(profile.status, 101)
  t.match(outcomeSentence(profile), `. The log has Error: no bottle (${PLACE}).`)
  t.match(await get(port, '/_profiler/search.json?error=1'), '/feed')
})
