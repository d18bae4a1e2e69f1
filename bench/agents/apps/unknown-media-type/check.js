import assert from 'node:assert/strict'

export default async function check (app) {
  const headers = { 'content-type': 'application/vnd.partner+json' }
  const answer = await app.inject({ method: 'POST', url: '/hook', headers, payload: '{"a":1}' })
  assert.deepEqual(answer.json(), { a: 1 })
}
