import assert from 'node:assert/strict'

export default async function check (app) {
  const answer = await app.inject({ method: 'POST', url: '/users', payload: { name: 'ada' } })
  assert.deepEqual([answer.statusCode, answer.headers.location], [201, '/users/ada'])
}
