import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import websocket from '@fastify/websocket'
import t from 'tap'
import { WebSocket } from 'ws'
import { firstAppFrame } from '../../src/errors/exception.js'
import { outcomeSentence } from '../../src/parts/overview/index.js'
import type { Profile } from '../../src/store/profile.js'
import { listen, newest } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const REJECTION = 'unhandledRejection'
// The runner has listeners of its own, for which a rejection is a failure.
const ofRunner = process.listeners(REJECTION)
process.removeAllListeners(REJECTION)
t.teardown(() => { for (const listener of ofRunner) process.on(REJECTION, listener) })

async function fail (message: string): Promise<never> {
  await null
  throw new Error(message)
}

inBothProducts('what listeners of a WebSocket raise or log is in the profile of its connection', async (t, build) => {
  const raised: string[] = []
  const listener = (reason: unknown): void => { raised.push((reason as Error).message) }
  process.on(REJECTION, listener)
  t.teardown(() => process.off(REJECTION, listener))
  const app = await build(async (app) => {
    await app.register(websocket)
    app.register(async (scope) => {
      scope.get('/message', { websocket: true }, (socket) => { socket.on('message', async () => await fail('in message')) })
      scope.get('/later', { websocket: true }, async (socket) => {
        await sleep(1)
        socket.on('message', () => { setTimeout(fail, 1, 'in later') })
        socket.send('ready')
      })
      scope.get('/close', { websocket: true }, (socket) => { socket.on('close', async () => await fail('in close')) })
      scope.get('/error', { websocket: true }, (socket) => { socket.on('error', async () => await fail('in error')) })
      scope.get('/logged', { websocket: true }, (socket, request) => {
        socket.on('message', async () => { await fail('in logged').catch((err: unknown) => request.log.error(err)) })
      })
    })
  })
  const port = await listen(app)
  for (const path of ['message', 'later', 'close', 'error', 'logged']) {
    const client = new WebSocket(`ws://127.0.0.1:${port}/${path}`)
    const ended = new Promise((resolve) => { client.on('close', resolve) })
    let connection: Socket | undefined
    client.on('error', () => {}).on('upgrade', ({ socket }) => { connection = socket })
    await once(client, path === 'later' ? 'message' : 'open')
    // A frame with bits that are reserved.
    if (path === 'error') connection?.write(Buffer.from([0xf1, 0x80, 0, 0, 0, 0]))
    else client.send('x')
    if (path !== 'logged' && path !== 'close' && path !== 'error') await once(process, REJECTION)
    client.close()
    await ended
    let profile: Profile | undefined
    for (let tries = 0; profile?.exceptions.length !== 1 && tries < 1_000; tries++) {
      await sleep(10)
      profile = await newest(app).catch(() => undefined)
      if (profile?.url.endsWith(path) === false) profile = undefined
    }
    t.match(profile, { status: 101, exceptions: [{ message: `in ${path}` }] }, path)
    t.equal(firstAppFrame(profile?.exceptions ?? [])?.file, import.meta.filename, path)
    t.match(profile && outcomeSentence(profile), `Error: in ${path} (`, path)
  }
  t.equal(raised.includes('in logged'), false)
})

inBothProducts('a WebSocket has the listeners that decide what an event does, and no more', async (t, build) => {
  const app = await build(async (app) => {
    await app.register(websocket)
    app.register(async (scope) => {
      scope.get('/', { websocket: true }, (socket) => { socket.send(JSON.stringify([socket.listenerCount('error'), socket.listenerCount('open')])) })
    })
  })
  const client = new WebSocket(`ws://127.0.0.1:${await listen(app)}/`)
  const [message] = await once(client, 'message') as [Buffer]
  // @fastify/websocket has one for errors.
  t.equal(String(message), '[1,0]')
  client.close()
})
