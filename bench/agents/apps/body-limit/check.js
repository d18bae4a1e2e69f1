import assert from 'node:assert/strict'

export default async function check (app) {
  const send = (size) => app.inject({ method: 'POST', url: '/upload', payload: { text: 'x'.repeat(size) } })
  assert.equal((await send(2000)).statusCode, 200)
  assert.equal((await send(20000)).statusCode, 413)
}
