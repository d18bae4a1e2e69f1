import assert from 'node:assert/strict'

export default async function check (app) {
  await app.inject('/search?q=a')
  assert.deepEqual((await app.inject('/search?q=b')).json(), { filters: ['b'] })
}
