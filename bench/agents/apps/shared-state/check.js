import assert from 'node:assert/strict'

export default async function check (app) {
  const me = async (user) => (await app.inject({ url: '/me', headers: { 'x-user': user } })).json().name
  assert.deepEqual(await Promise.all([me('a'), me('b')]), ['a', 'b'])
}
