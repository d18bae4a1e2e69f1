import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { sessionSecret } from '../../app/session-secret.js'

const GIVEN = 'a secret of thirty-two characters or more'
const folder = () => mkdtempSync(join(tmpdir(), 'hindsight-'))

t.test('the operator\'s is taken as it is', async t => {
  for (const production of [true, false]) t.equal(sessionSecret(GIVEN, production, '/nowhere'), GIVEN)
  t.equal(sessionSecret('x'.repeat(32), true, '/nowhere').length, 32)
  for (const production of [true, false]) t.throws(() => sessionSecret('x'.repeat(31), production, '/nowhere'), { message: 'SESSION_SECRET is too short: 31 characters, at least 32 are needed' })
})

t.test('production makes none', async t => {
  const dir = folder()
  t.throws(() => sessionSecret('', true, dir), { message: 'SESSION_SECRET is not set: production needs one of at least 32 characters' })
  t.throws(() => statSync(join(dir, 'session-secret')), { code: 'ENOENT' })
})

t.test('development makes one and keeps it, for its owner alone', async t => {
  const dir = join(folder(), 'deep', 'er')
  const made = sessionSecret('', false, dir)
  t.match(made, /^[0-9a-f]{64}$/)
  t.equal(sessionSecret('', false, dir), made)
  t.equal(statSync(join(dir, 'session-secret')).mode & 0o777, 0o600)
  t.not(sessionSecret('', false, folder()), made)
})

t.test('one that was cut off is made anew', async t => {
  const dir = folder()
  writeFileSync(join(dir, 'session-secret'), 'abc')
  const made = sessionSecret('', false, dir)
  t.match(made, /^[0-9a-f]{64}$/)
  t.equal(readFileSync(join(dir, 'session-secret'), 'utf8').trim(), made)
})

t.test('where it cannot be kept, the message says what to do', async t => {
  const dir = folder()
  writeFileSync(join(dir, 'file'), '')
  t.throws(() => sessionSecret('', false, join(dir, 'file')), { message: /^DATA_DIR: a development session secret cannot be kept in .*\/file\/session-secret \(.+\); set SESSION_SECRET or another DATA_DIR$/ })
  mkdirSync(join(dir, 'session-secret'))
  t.throws(() => sessionSecret('', false, dir), { message: /^DATA_DIR: .*EISDIR/ })
})
