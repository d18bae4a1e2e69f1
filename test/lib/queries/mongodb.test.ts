import { createServer, type AddressInfo, type Socket } from 'node:net'
import { BSON, MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { observe } from '../../../lib/queries/observe.js'
import { profileOf } from '../../support/app.js'
import { inBothModes } from '../../support/modes.js'
import { compare } from './compare.js'

type Document = Record<string, unknown>

const HELLO = {
  ok: 1,
  isWritablePrimary: true,
  helloOk: true,
  maxWireVersion: 25,
  minWireVersion: 0,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  readOnly: false
}

function replyTo (command: Document): Document {
  const [name = ''] = Object.keys(command)
  if (name === 'find') return { ok: 1, cursor: { id: BSON.Long.ZERO, ns: 'shop.users', firstBatch: [{ _id: 1 }, { _id: 2 }] } }
  if (name === 'insert' || name === 'delete') return { ok: 1, n: 1 }
  if (name === 'drop') return { ok: 0, code: 26, codeName: 'NamespaceNotFound', errmsg: 'ns not found' }
  return HELLO
}

/** A server of the protocol of MongoDB with fixed replies: none of Debian's packages has the real one. */
async function server (t: Test): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => {}).on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 16 && received.length >= received.readInt32LE(0)) {
        const length = received.readInt32LE(0)
        answer(socket, received.subarray(0, length))
        received = received.subarray(length)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/shop`
}

function answer (socket: Socket, message: Buffer): void {
  const [request, isQuery] = [message.readInt32LE(4), message.readInt32LE(12) === 2004]
  const start = isQuery ? message.indexOf(0, 20) + 9 : 21
  const command = BSON.deserialize(message.subarray(start, start + message.readInt32LE(start))) as Document
  const body = BSON.serialize(replyTo(command))
  const head = Buffer.alloc(isQuery ? 36 : 21)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(request, 8)
  head.writeInt32LE(isQuery ? 1 : 2013, 12)
  if (isQuery) head.writeInt32LE(1, 32)
  socket.write(Buffer.concat([head, body]))
}

const system = 'mongodb'

t.test('MongoClient', async (t) => {
  const url = await server(t)
  await compare(t, () => new MongoClient(url), (client) => client.close(), [
    {
      name: 'commands, cursors and failures',
      async run (client, note) {
        const users = client.db().collection('users')
        note(await users.find({ age: { $gt: 3 } }).toArray(), await users.deleteOne({ _id: 1 as never }))
        note((await users.insertOne({ name: 'Ada' })).acknowledged)
        await client.db().command({ drop: 'nothing' }).catch(note)
      },
      queries: [
        { system, statement: 'users.find', parameters: { filter: { age: { $gt: 3 } } }, rows: 2 },
        { statement: 'users.delete', parameters: { deletes: [{ q: { _id: 1 }, limit: 1 }] }, rows: 1 },
        { statement: 'users.insert', parameters: { documents: [{ name: 'Ada' }] }, rows: 1 },
        { statement: 'nothing.drop', error: { code: 26, codeName: 'NamespaceNotFound' } }
      ]
    },
    {
      name: 'how it looks',
      run: (client, note) => note(client instanceof MongoClient, Object.keys(client), client.eventNames(), client.listenerCount('commandStarted')),
      queries: []
    }
  ])

  inBothModes('secrets of documents are masked, and the line is that of the application', async (t, build) => {
    const client = observe(new MongoClient(url))
    t.teardown(() => client.close())
    const app = await build((app) => app.get('/', async () => {
      await client.db().collection('users').insertOne({ name: 'Ada', password: 'planted secret' })
      await client.db().collection('users').find({ token: 'planted secret' }).toArray()
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    const source = /mongodb\.test\.ts:\d+:\d+$/
    t.match(collectors.queries, { count: 2, queries: [{ statement: 'users.insert', source }, { statement: 'users.find', source }] })
    t.notMatch(JSON.stringify(collectors.queries), 'planted secret')
  }, t)
})
