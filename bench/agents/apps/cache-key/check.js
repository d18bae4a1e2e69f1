import assert from 'node:assert/strict'

export default async function check (app) {
  await app.inject('/report?year=1')
  assert.deepEqual((await app.inject('/report?year=2')).json(), { year: '2' })
}
