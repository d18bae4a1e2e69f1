import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const FILE = 'é'.repeat(50_000)

/** A body with fields, files of one name, and text that looks like a delimiter. */
function formOf (): FormData {
  const form = new FormData()
  form.set('title', 'a cät\r\n--no boundary')
  form.set('password', 'p4ss')
  form.set('empty', '')
  form.set('long', 'x'.repeat(3_000))
  form.append('files', new Blob([FILE], { type: 'text/plain' }), 'notes.txt')
  form.append('files', new Blob(['bb'], { type: 'image/png' }), 'b.png')
  return form
}

async function sendForm (app: FastifyInstance, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(app.listeningOrigin + path, { method: 'POST', body: formOf() })
  await response.text()
  const headers = { 'x-debug-token': response.headers.get('x-debug-token') }
  return (await profileOf(app, { headers } as never)).collectors.request as Record<string, unknown>
}

inBothProducts('an upload has its fields, and the names, types and sizes of its files, however it is read', async (t, build) => {
  const app = await build((app) => {
    app.register(async (scope) => {
      await scope.register(multipart)
      scope.post('/parts', async (request) => {
        let read = 0
        for await (const part of request.parts()) if (part.type === 'file') read += (await part.toBuffer()).length
        return { read }
      })
      scope.post('/file', async (request) => {
        const file = await request.file()
        return { read: (await file?.toBuffer())?.length }
      })
      scope.post('/unread', async () => 'x')
    })
    app.register(async (scope) => {
      await scope.register(multipart, { attachFieldsToBody: true })
      scope.post('/attached', async () => 'x')
    })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const fields = { title: 'a cät\r\n--no boundary', password: '******', empty: '', long: `${'x'.repeat(2_000)}… (1,000 more bytes)` }
  const files = ['[file notes.txt, text/plain, 100 kB]', '[file b.png, image/png, 2 bytes]']
  const { body, bodyNote } = await sendForm(app, '/parts')
  t.same(body, { ...fields, files })
  t.equal(bodyNote, undefined)
  t.match((await sendForm(app, '/file')).body, { title: fields.title, password: '******' }, 'with what was read')
  t.match((await sendForm(app, '/attached')).body, { title: fields.title, files })
  t.match(await sendForm(app, '/unread'), { body: null, bodyNote: /^not recorded: the application reads the parts, 10\d\.\d kB, itself$/ })
})

inBothProducts('what is before the first part and after the last one is no part', async (t, build) => {
  const app = await build((app) => {
    app.register(multipart)
    app.post('/', async (request) => { for await (const part of request.parts()) if (part.type === 'file') await part.toBuffer() })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const body = 'before\r\n--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n\r\nafter: 1\r\n\r\n'
  const response = await fetch(app.listeningOrigin, { method: 'POST', body, headers: { 'content-type': 'multipart/form-data; boundary=b' } })
  await response.text()
  const { collectors } = await profileOf(app, { headers: { 'x-debug-token': response.headers.get('x-debug-token') } } as never)
  t.same((collectors.request as { body: object }).body, { a: '1' })
})

inBothProducts('the application receives the same upload', async (t, build) => {
  const app = await build((app) => {
    app.register(multipart)
    app.post('/', async (request) => {
      const file = await request.file({ limits: { fileSize: 1_000_000 } })
      return { same: (await file?.toBuffer())?.equals(Buffer.from(FILE)), name: file?.filename }
    })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const response = await fetch(app.listeningOrigin, { method: 'POST', body: formOf() })
  t.same(await response.json(), { same: true, name: 'notes.txt' })
})
