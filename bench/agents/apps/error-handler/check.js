import assert from 'node:assert/strict'

export default async function check (app) {
  const answer = await app.inject('/articles/7')
  assert.deepEqual([answer.statusCode, answer.json()], [404, { error: 'No article 7' }])
}
