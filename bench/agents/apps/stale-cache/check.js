import assert from 'node:assert/strict'

export default async function check (app) {
  await app.inject('/stock')
  await app.inject({ method: 'PUT', url: '/stock', payload: { stock: 5 } })
  assert.deepEqual((await app.inject('/stock')).json(), { stock: 5 })
}
