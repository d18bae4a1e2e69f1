import assert from 'node:assert/strict'

export default async function check (app) {
  assert.equal((await app.inject('/file')).headers['x-version'], '1')
}
