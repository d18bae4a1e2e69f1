import { createServer, type AddressInfo, type Socket } from 'node:net'
import { BSON, MongoClient } from 'mongodb'
import mongoose from 'mongoose'
import t, { type Test } from 'tap'
import { observe } from '../../../src/queries/observe.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { compare } from '../../queries/compare.js'

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

/** Each category has the next one as its parent. */
function rowsOf ({ find, filter, aggregate }: Document): Document[] {
  if (aggregate !== undefined) return [{ _id: 1, n: 3 }]
  const { _id: id } = filter as { _id?: number }
  if (find === 'categories' && id !== undefined) return [{ _id: id, parent: id === 7 ? null : id + 1 }]
  return [{ _id: 1 }, { _id: 2 }]
}

function replyTo (command: Document): Document {
  const [name = ''] = Object.keys(command)
  if (name === 'find' || name === 'aggregate') {
    return { ok: 1, cursor: { id: BSON.Long.ZERO, ns: 'shop.users', firstBatch: rowsOf(command) } }
  }
  if (name === 'insert' || name === 'delete') return { ok: 1, n: 1 }
  if (name === 'update') return { ok: 1, n: 3, nModified: 2 }
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

  inBothProducts('secrets of documents are masked, and the line is that of the application', async (t, build) => {
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

t.test('mongoose, by its channels', async (t) => {
  const url = await server(t)
  inBothProducts('operations with their lines, rows and failures', async (t, build) => {
    const connection = await mongoose.createConnection(url).asPromise()
    t.teardown(() => connection.close())
    const User = connection.model('User', new mongoose.Schema({ _id: Number, name: String, password: String }))
    const app = await build((app) => app.get('/', async () => {
      await User.find({ age: { $gt: 3 } })
      await User.findOne({ password: 'planted secret' }).select('name').lean()
      await User.create({ _id: 5, name: 'Ada', password: 'planted secret' })
      await User.insertMany([{ _id: 7, name: 'Bob', password: 'planted secret' }])
      await User.updateMany({ name: 'Ada' }, { password: 'planted secret' })
      await User.deleteOne({ _id: 1 })
      await User.aggregate([{ $match: { name: 'Ada' } }])
      await User.countDocuments({ name: 'Ada' })
      await User.find({ _id: 'planted' as never }).catch(() => {})
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      count: 9,
      failed: 1,
      queries: [
        { system: 'mongodb', statement: 'users.find', rows: 2, shape: 'users.find({ filter: { age: { $gt: ? } } })' },
        { statement: 'users.findOne', parameters: { filter: { password: '******' }, fields: { name: 1 } }, rows: 1 },
        { statement: 'users.save', shape: 'users.save({})', rows: 1 },
        { statement: 'users.insertMany', parameters: { docs: [{ name: '******', password: '******' }] }, rows: 1 },
        { statement: 'users.updateMany', rows: 2 },
        { statement: 'users.deleteOne', rows: 1 },
        { statement: 'users.aggregate', parameters: { pipeline: [{ $match: { name: 'Ada' } }] }, rows: 1 },
        { statement: 'users.countDocuments', rows: null },
        { statement: 'users.find', error: { message: /^Cast to Number failed/ } }
      ].map((query) => ({ ...query, source: /mongodb\.test\.ts:\d+:\d+$/ }))
    })
    t.notMatch(JSON.stringify(collectors.queries), 'planted secret')
  }, t)

  inBothProducts('operations have the whole command of an observed client, and are recorded once', async (t, build) => {
    const connection = await mongoose.createConnection(url, { monitorCommands: true }).asPromise()
    t.teardown(() => connection.close())
    observe(connection.getClient())
    const User = connection.model('User', new mongoose.Schema({ _id: Number, name: String, password: String }))
    const app = await build((app) => app.get('/', async () => {
      await User.find({ name: /a/ }).limit(2)
      await Promise.all([3, 1, 2].map(async (id) => await User.findOne({ _id: id, password: 'planted secret' })))
      await User.updateMany({ name: /b/ }, { password: 'planted secret' })
    }))
    const { collectors } = await profileOf(app, await app.inject('/'))
    t.match(collectors.queries, {
      count: 5,
      queries: [
        { statement: 'users.find', parameters: { filter: { name: '/a/' }, limit: 2 }, rows: 2, source: /mongodb\.test\.ts/ },
        ...[3, 1, 2].map((id) => ({ statement: 'users.findOne', parameters: { filter: { _id: id, password: '******' }, limit: 1 } })),
        { statement: 'users.updateMany', parameters: { updates: [{ q: { name: '******' }, u: { $set: { password: '******' } } }] }, rows: 2 }
      ]
    })
    t.notMatch(JSON.stringify(collectors.queries), 'planted secret')
  }, t)

  inBothProducts('rows one by one are repetitions, and pages have no finding', async (t, build) => {
    const connection = await mongoose.createConnection(url).asPromise()
    const client = observe(new MongoClient(url))
    t.teardown(() => Promise.all([connection.close(), client.close()]))
    const Category = connection.model('Category', new mongoose.Schema({ _id: Number, parent: Number }))
    const app = await build((app) => {
      app.get('/mongoose', async () => {
        for (let id: unknown = 1; typeof id === 'number';) id = (await Category.findById(id))?.parent
      })
      app.get('/lean', async () => {
        for (let id: unknown = 1; typeof id === 'number';) id = (await Category.findById(id).lean())?.parent
      })
      app.get('/mongodb', async () => {
        const categories = client.db().collection<{ _id: number, parent: number | null }>('categories')
        for (let id: number | null | undefined = 1; typeof id === 'number';) id = (await categories.findOne({ _id: id }))?.parent
      })
      app.get('/pages', async () => {
        await Category.find().limit(5)
        await Category.find().skip(5).limit(5)
      })
      app.get('/loop', async () => {
        for (const id of [11, 22, 33, 44, 55]) await Category.findById(id)
      })
    })
    for (const path of ['/mongoose', '/lean', '/mongodb', '/pages', '/loop']) {
      const { findings } = (await profileOf(app, await app.inject(path))).collectors.queries as { findings: Array<{ kind: string }> }
      t.same(findings.map(({ kind }) => kind).filter((kind) => kind !== 'slow'), path === '/pages' ? [] : ['repeated'], path)
    }
  }, t)
})
