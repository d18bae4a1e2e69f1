import assert from 'node:assert/strict'

export default async function check (app) {
  const order = []
  const hash = app.inject('/hash').then(() => order.push('hash'))
  const fast = new Promise((resolve) => setImmediate(resolve)).then(() => app.inject('/fast')).then(() => order.push('fast'))
  await Promise.all([hash, fast])
  assert.deepEqual(order, ['fast', 'hash'])
}
