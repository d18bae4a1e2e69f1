import t from 'tap'
import { argon2, compileProvider, hashPassword, passwordCheck } from '../../../lib/security/users.js'
import { countingHasher, passwords } from './support.js'

t.test('a hash is Argon2id with a random salt', async t => {
  const [first, second] = await Promise.all([hashPassword('secret'), hashPassword('secret')])
  t.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.not(first, second)
  t.equal(await argon2.verify(first, 'secret'), true)
  t.equal(await argon2.verify(first, 'Secret'), false)
})

t.test('each check of a password takes one verification', async t => {
  const hasher = countingHasher()
  const verify = await passwordCheck(hasher, compileProvider('people', { users: [{ identifier: 'ada', password: passwords.ada }] }))
  const ada = { identifier: 'ada', password: passwords.ada }
  for (const [user, password, expected] of [
    [ada, 'lovelace', true], [ada, 'x', false], [{ identifier: 'x' }, '', false], [null, 'lovelace', false], [undefined, '', false]
  ] as const) {
    hasher.verified.length = 0
    t.equal(await verify(user, password), expected)
    t.equal(hasher.verified.length, 1)
    t.equal(hasher.verified[0]?.slice(0, 27), passwords.ada.slice(0, 27), 'with the same parameters')
  }
})

t.test('an invalid hash matches no password', async t => {
  const verify = await passwordCheck(argon2, compileProvider('people', () => null))
  t.equal(await verify({ identifier: 'x', password: 'plain' }, 'plain'), false)
})
