import assert from 'node:assert/strict'

export default async function check (app) {
  const answer = await app.inject({ method: 'POST', url: '/orders', headers: { 'x-user': 'ada' } })
  assert.deepEqual(answer.json(), { greeting: 'Hello ada' })
}
