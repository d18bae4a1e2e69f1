import assert from 'node:assert/strict'

export default async function check (app) {
  assert.match((await app.inject('/page')).headers['content-type'], /^text\/html/)
}
