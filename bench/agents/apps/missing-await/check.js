import assert from 'node:assert/strict'

export default async function check (app) {
  assert.deepEqual((await app.inject('/total')).json(), { total: 6 })
}
