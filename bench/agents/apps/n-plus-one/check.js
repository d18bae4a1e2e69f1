import assert from 'node:assert/strict'

export default async function check (app) {
  const orders = (await app.inject('/orders')).json()
  assert.equal(orders[3].name, 'ada')
  assert.ok(app.database.count <= 2, `${app.database.count} queries`)
}
