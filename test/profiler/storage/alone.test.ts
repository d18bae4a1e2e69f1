import fs, { existsSync, lutimesSync, readdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { alone } from '../../../plugins/profiler/storage/embedded/alone.js'

t.test('what claims a place keeps others from it, and lets go of it', async (t) => {
  const place = join(t.testdir(), 'place')
  const order: number[] = []
  await Promise.all([1, 2, 3].map((one) => alone(place, () => {
    t.ok(existsSync(`${place}-begin`))
    order.push(one)
  })))
  t.same(order.sort(), [1, 2, 3])
  await t.rejects(alone(place, () => { throw new Error('no') }), { message: 'no' })
  t.notOk(existsSync(`${place}-begin`), 'also of one that fails')
})

t.test('a claim that a dead process has left is taken over, whatever its time says', async (t) => {
  for (const seconds of [-3_600, 3_600]) {
    const folder = t.testdir()
    const place = join(folder, 'place')
    writeFileSync(`${place}-begin`, '')
    const time = Date.now() / 1_000 + seconds
    utimesSync(`${place}-begin`, time, time)
    t.equal(await alone(place, () => 'done'), 'done')
    t.same(readdirSync(folder), [], 'nothing is left')
  }
})

t.test('who has lost its claim leaves that of another', async (t) => {
  const folder = t.testdir()
  const place = join(folder, 'place')
  await alone(place, () => {
    renameSync(`${place}-begin`, join(folder, 'aside'))
    writeFileSync(`${place}-begin`, 'of another')
  })
  t.ok(existsSync(`${place}-begin`))
})

t.test('a claim that stands for nothing is taken over, too', async (t) => {
  const folder = t.testdir()
  const place = join(folder, 'place')
  symlinkSync(join(folder, 'nowhere'), `${place}-begin`)
  const time = Date.now() / 1_000 - 3_600
  lutimesSync(`${place}-begin`, time, time)
  t.equal(await alone(place, () => 'done'), 'done')
  t.same(readdirSync(folder), [])
})

t.test('one that the system does not let go of is told', { timeout: 10_000 }, async (t) => {
  const folder = t.testdir({ 'place-begin': '' })
  utimesSync(join(folder, 'place-begin'), 0, 0)
  // As in a folder where only who has made a file may move it.
  const { alone } = await t.mockImport<typeof import('../../../plugins/profiler/storage/embedded/alone.js')>('../../../plugins/profiler/storage/embedded/alone.js', {
    'node:fs': { ...fs, renameSync () { throw Object.assign(new Error('EPERM: operation not permitted, rename'), { code: 'EPERM' }) } }
  })
  await t.rejects(alone(join(folder, 'place'), () => 'done'), { code: 'EPERM' })
})
