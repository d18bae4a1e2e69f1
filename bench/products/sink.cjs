'use strict'
// The local server that receives what the products send, and is the service that the application calls.
const { createServer } = require('node:http')

let received = 0
const server = createServer((request, response) => {
  const isExport = request.method === 'POST'
  request.on('data', (chunk) => { if (isExport) received += chunk.length })
  request.on('end', () => {
    const { pathname } = new URL(request.url, 'http://sink')
    const body = pathname.startsWith('/stock/')
      ? { id: Number(pathname.slice('/stock/'.length)), stock: 7 }
      // Elastic asks for the version of its server.
      : { version: '8.15.0', build_date: '2024-08-05T00:00:00Z', build_sha: '0' }
    response.writeHead(pathname === '/intake/v2/events' ? 202 : 200, { 'content-type': 'application/json' })
    response.end(isExport ? '{}' : JSON.stringify(body))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => {
  process.send({ received })
  received = 0
})
process.on('disconnect', () => process.exit())
