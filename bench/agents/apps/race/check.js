import assert from 'node:assert/strict'

export default async function check (app) {
  const buy = () => app.inject({ method: 'POST', url: '/buy' })
  const statuses = (await Promise.all([buy(), buy()])).map(({ statusCode }) => statusCode).sort()
  assert.deepEqual(statuses, [200, 409])
}
