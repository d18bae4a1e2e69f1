import assert from 'node:assert/strict'

export default async function check (app) {
  const answer = await app.inject({ method: 'POST', url: '/pay' })
  assert.deepEqual([answer.statusCode, app.paid], [401, 0])
}
