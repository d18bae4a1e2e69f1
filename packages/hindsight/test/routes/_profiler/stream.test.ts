import http2 from 'node:http2'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { MemoryStorage } from '../../../src/store/memory.js'
import { listen } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

inBothProducts('an application closes while a list is open', async (t, build) => {
  const app = await build()
  const origin = `http://127.0.0.1:${await listen(app)}`
  const { body } = await fetch(`${origin}/_profiler/stream`)
  const reader = body?.getReader()
  t.match(new TextDecoder().decode((await reader?.read())?.value), 'retry')
  // Where it waited for the stream, the time limit of the test would end it.
  await app.close()
  t.equal((await reader?.read())?.done, true)
})

class FailingStorage extends MemoryStorage {
  fails = false
  override search (...args: Parameters<MemoryStorage['search']>): ReturnType<MemoryStorage['search']> {
    if (this.fails) throw new Error('the database is down')
    return super.search(...args)
  }
}

inBothProducts('requests for the stream while the store fails take no place of a client', async (t, build) => {
  const storage = new FailingStorage()
  const app = await build(undefined, { profiler: { storage } })
  const url = `http://127.0.0.1:${await listen(app)}/_profiler/stream`
  storage.fails = true
  for (let i = 0; i < 60; i++) t.equal((await fetch(url).then(async (response) => { await response.text(); return response.status })), 503)
  storage.fails = false
  const abort = new AbortController()
  t.equal((await fetch(url, { signal: abort.signal })).status, 200)
  abort.abort()
})

inBothProducts('a client that leaves the stream makes room for another', async (t, build) => {
  const app = await build()
  const url = `http://127.0.0.1:${await listen(app)}/_profiler/stream`
  const open = async (): Promise<AbortController> => {
    const abort = new AbortController()
    const { status } = await fetch(url, { signal: abort.signal })
    t.equal(status, 200)
    return abort
  }
  const clients = await Promise.all(Array.from({ length: 50 }, open))
  t.equal((await fetch(url)).status, 503, 'no more at once')
  clients.pop()?.abort()
  let status = 503
  while (status === 503) {
    await sleep(10)
    const response = await fetch(url)
    status = response.status
    await response.body?.cancel()
  }
  t.equal(status, 200)
})

inBothProducts('the stream has no header that HTTP/2 forbids', async (t, build) => {
  const app = await build(undefined, {}, { http2: true })
  const session = http2.connect(`http://127.0.0.1:${await listen(app)}`)
  t.teardown(() => session.destroy())
  const warnings: string[] = []
  const onWarning = (warning: Error): void => { warnings.push(warning.message) }
  process.on('warning', onWarning)
  const stream = session.request({ ':path': '/_profiler/stream' })
  const [headers] = await once(stream, 'response') as [http2.IncomingHttpHeaders]
  await sleep(20)
  process.off('warning', onWarning)
  t.equal(headers[':status' as never], 200)
  t.same(warnings, [])
  stream.close()
})
