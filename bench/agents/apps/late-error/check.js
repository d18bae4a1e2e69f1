import assert from 'node:assert/strict'

export default async function check (app) {
  await app.inject({ method: 'POST', url: '/mail' })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(app.failed, 1)
}
