import assert from 'node:assert/strict'

export default async function check (app) {
  const answer = await app.inject('/users')
  assert.deepEqual(answer.json(), ['ada'])
}
