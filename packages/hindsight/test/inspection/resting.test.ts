import { limits } from '../../src/inspection/inspect-calls.js'
import { inspection } from '../../src/inspection/inspection.js'
import type { Profile } from '../../src/store/profile.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'

allowInspection()
// The first pause takes longer than all may, for more than an hour.
Object.assign(limits, { share: 1e-6, burst: 1e-3 })

inBothProducts('after too many errors no variables are read, and a sentence says so', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/', async () => {
      const id = 1
      throw new Error(String(id))
    })
    app.get('/fine', async () => ({}))
    app.get('/primitive', async () => { const id = 1; throw `no ${id}` }) // eslint-disable-line no-throw-literal
  })
  t.equal(await hasInspection(), true)
  const failed = async (path: string): Promise<Profile['exceptions'][number] | undefined> => {
    const { headers } = await app.inject({ url: path, headers: { accept: 'text/html' } })
    const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)
    return (JSON.parse(body) as Profile).exceptions[0]
  }
  if (product === 'package') {
    t.match(await failed('/'), { values: [{ variables: [{ name: 'id', value: '1' }] }], note: undefined })
  }
  while (!inspection.isResting) await new Promise((resolve) => { setImmediate(resolve) })
  for (const path of ['/', '/primitive']) {
    t.match(await failed(path), { values: undefined, note: 'For a time no variables were read: too many errors were thrown.' })
  }
  const { headers } = await app.inject('/fine')
  const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.md`)
  t.match(body, 'GET http://')
  t.notMatch(body, 'too many were thrown', 'it has thrown no error')
})
