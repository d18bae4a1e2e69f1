import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { sessionSecret } from '../../app/environment.js'

const GIVEN = 'a secret of thirty-two characters or more'
const folder = () => mkdtempSync(join(tmpdir(), 'hindsight-'))

t.test('a configured secret is used unchanged', async t => {
  for (const production of [true, false]) t.equal(sessionSecret(GIVEN, production, '/nowhere'), GIVEN)
  t.equal(sessionSecret('x'.repeat(32), true, '/nowhere').length, 32)
  for (const production of [true, false]) t.throws(() => sessionSecret('x'.repeat(31), production, '/nowhere'), { message: 'SESSION_SECRET is too short: 31 characters, at least 32 are needed' })
})

t.test('production generates no secret', async t => {
  const dir = folder()
  t.throws(() => sessionSecret('', true, dir), { message: 'SESSION_SECRET is not set: production needs one of at least 32 characters' })
  t.throws(() => statSync(join(dir, 'session-secret')), { code: 'ENOENT' })
})

t.test('development generates a secret, and stores it in a file that only its owner can read', async t => {
  const dir = join(folder(), 'deep', 'er')
  const made = sessionSecret('', false, dir)
  t.match(made, /^[0-9a-f]{64}$/)
  t.equal(sessionSecret('', false, dir), made)
  t.equal(statSync(join(dir, 'session-secret')).mode & 0o777, 0o600)
  t.not(sessionSecret('', false, folder()), made)
})

t.test('a truncated secret is generated again', async t => {
  const dir = folder()
  writeFileSync(join(dir, 'session-secret'), 'abc')
  const made = sessionSecret('', false, dir)
  t.match(made, /^[0-9a-f]{64}$/)
  t.equal(readFileSync(join(dir, 'session-secret'), 'utf8').trim(), made)
})

t.test('when the secret cannot be stored, the error names DATA_DIR and the reason', async t => {
  const dir = folder()
  writeFileSync(join(dir, 'file'), '')
  t.throws(() => sessionSecret('', false, join(dir, 'file')), { message: /^DATA_DIR: a development session secret cannot be kept in .*\/file\/session-secret \(.+\); set SESSION_SECRET or another DATA_DIR$/ })
  mkdirSync(join(dir, 'session-secret'))
  t.throws(() => sessionSecret('', false, dir), { message: /^DATA_DIR: .*EISDIR/ })
})
