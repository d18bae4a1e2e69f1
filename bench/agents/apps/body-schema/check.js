import assert from 'node:assert/strict'

export default async function check (app) {
  assert.equal((await app.inject({ method: 'POST', url: '/items', payload: { name: 'a' } })).statusCode, 200)
  assert.equal((await app.inject({ method: 'POST', url: '/items', payload: {} })).statusCode, 400)
}
