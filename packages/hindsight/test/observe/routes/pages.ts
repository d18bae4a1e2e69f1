import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

export const PAGE = `<!doctype html>
<html lang="en"><head><title>A page</title><style>p { color: green }</style></head>
<body style="margin: 0"><p onclick="this.remove()">${'A paragraph. '.repeat(20)}</p><script>document.title += '!'</script></body></html>
`

/** HTML of the application, in each form that it can be sent in. */
export function declarePages (app: FastifyInstance): void {
  app.get('/page', (_request, reply) => reply.type('text/html').send(PAGE))
  app.get('/page/octets', (_request, reply) => reply.type('text/html; charset=utf-8').send(Buffer.from(PAGE)))
  app.get(
    '/page/latin-1',
    (_request, reply) => reply.type('text/html; charset=iso-8859-1').send(Buffer.from('<!doctype html><title>\u00dc</title><body>\u00dc</body>', 'latin1'))
  )
  app.get('/page/stream', (_request, reply) => reply.type('text/html').send(Readable.from([PAGE.slice(0, 100), PAGE.slice(100)])))
  app.get('/page/fragment', (_request, reply) => reply.type('text/html').send('<p>A fragment</p>'))
  app.get('/page/length', (_request, reply) => reply.type('text/html').header('content-length', Buffer.byteLength(PAGE)).send(PAGE))
  app.get('/page/download', (_request, reply) => reply.type('text/html').header('content-disposition', 'attachment').send(PAGE))
  app.get(
    '/page/validators',
    (_request, reply) => reply.type('text/html').headers({ etag: '"1"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT', 'accept-ranges': 'bytes' }).send(PAGE)
  )
  app.get('/page/error', (_request, reply) => reply.code(500).type('text/html').send(PAGE))
  for (const [name, policy] of Object.entries(
    { strict: "default-src 'none'", inline: "script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'" }
  )) {
    app.get(`/page/policy/${name}`, (_request, reply) => reply.type('text/html').header('content-security-policy', policy).send(PAGE))
  }
}
