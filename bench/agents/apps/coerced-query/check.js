import assert from 'node:assert/strict'

export default async function check (app) {
  assert.equal((await app.inject('/page?size=10')).json().length, 10)
  assert.equal((await app.inject('/page')).json().length, 25)
}
