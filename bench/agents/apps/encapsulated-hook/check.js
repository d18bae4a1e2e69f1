import assert from 'node:assert/strict'

export default async function check (app) {
  assert.equal((await app.inject('/admin')).statusCode, 401)
  assert.equal((await app.inject({ url: '/admin', headers: { authorization: 'a' } })).statusCode, 200)
}
