import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { firstAppFrame } from '../../src/errors/exception.js'
import { outcomeSentence } from '../../src/parts/overview/index.js'
import type { Profile } from '../../src/store/profile.js'
import { get, listen, newest, profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

/** The newest profile, when it is that of a path. */
async function profileAt (app: FastifyInstance, path: string): Promise<Profile> {
  for (let tries = 0; tries < 1_000; tries++) {
    const found = await newest(app).catch(() => undefined)
    if (found?.url.endsWith(path) === true) return found
    await sleep(10)
  }
  throw new Error(`No profile of ${path}`)
}

inBothProducts('an error that is thrown after the response was sent is in the profile', async (t, build) => {
  const app = await build((app) => {
    app.get('/sent', (_request, reply) => {
      reply.send('sent')
      throw new Error('thrown after send')
    })
    app.get('/hijacked', (_request, reply) => {
      reply.hijack()
      reply.raw.end('sent')
      throw new Error('thrown after hijack')
    })
    app.register(async (scope) => {
      scope.addHook('preHandler', async (_request, reply) => {
        reply.send('sent')
        await once(reply.raw, 'close')
        throw new Error('thrown in a hook')
      })
      scope.get('/hook', async () => 'not sent')
    })
  })
  const port = await listen(app)
  for (const [path, message] of [['/sent', 'thrown after send'], ['/hijacked', 'thrown after hijack'], ['/hook', 'thrown in a hook']] as const) {
    t.match(await get(port, path), 'sent', path)
    let profile = await profileAt(app, path)
    for (let tries = 0; profile.exceptions.length === 0 && tries < 1_000; tries++) {
      await sleep(10)
      profile = await profileAt(app, path)
    }
    t.match(profile, { status: 200, exceptions: [{ message }] }, path)
    t.equal(firstAppFrame(profile.exceptions)?.file, import.meta.filename, path)
    t.match(outcomeSentence(profile), `, and an error was recorded: Error: ${message} (`, path)
  }
})

inBothProducts('a function that the application puts in place of reply.send is called', async (t, build) => {
  const app = await build((app) => {
    app.get('/', {
      preHandler: async (_request, reply) => {
        const { send } = reply
        reply.send = function (payload: unknown) { return send.call(this, `${String(payload)} by the application`) }
      }
    }, async () => 'sent')
  })
  t.equal((await app.inject('/')).body, 'sent by the application')
})

inBothProducts('a hook of a route that fails again is one failure', async (t, build, product) => {
  async function signPayload (): Promise<never> { throw new Error('no key to sign with') }
  const app = await build((app) => {
    app.get('/success', { onSend: signPayload }, async () => 'x')
    app.get('/failure', { onSend: signPayload }, async () => { throw new Error('the handler failed') })
  })
  for (const path of ['/success', '/failure']) {
    const { exceptions, collectors } = await profileOf(app, await app.inject(path))
    const { otherErrors = [] } = collectors as { otherErrors?: Profile['exceptions'][] }
    const messages = [exceptions, ...otherErrors].flat().map(({ message }) => message)
    t.equal(messages.filter((message) => message === 'no key to sign with').length, 1, path)
    t.equal(messages.length, path === '/success' ? 1 : 2, path)
  }
  const profile = await profileOf(app, await app.inject('/success'))
  // The service sends its page without the hooks when one of them has failed.
  if (product === 'package') t.match(outcomeSentence(profile), ' the request failed with Error, and again for the response about that.')
})

inBothProducts('no frame of Hindsight is one of an error that it has not raised', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onRequest', (_request, _reply, done) => { done() })
    app.get('/sent', (_request, reply) => {
      reply.send('sent')
      throw new Error('thrown after send')
    })
    app.get('/text', { schema: { querystring: { type: 'object', required: ['id'] } } }, async () => 'x')
    app.get('/thrown', () => { throw new Error('thrown') })
    app.get('/number', async (_request, reply) => reply.code('no number' as never).send())
  })
  for (const path of ['/sent', '/text', '/thrown', '/number']) {
    const { exceptions, collectors } = await profileOf(app, await app.inject(path))
    const { otherErrors = [] } = collectors as { otherErrors?: Profile['exceptions'][] }
    const all = [exceptions, ...otherErrors].flat()
    t.not(all.length, 0, path)
    for (const { frames, stack } of all) t.notMatch([frames.map(({ file }) => file), stack], /packages.hindsight.src/, path)
  }
})
