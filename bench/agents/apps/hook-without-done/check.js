import assert from 'node:assert/strict'

export default async function check (app) {
  const answer = await Promise.race([app.inject('/slow'), new Promise((resolve) => setTimeout(resolve, 10_000, null))])
  assert.equal(answer?.body, 'ok')
}
