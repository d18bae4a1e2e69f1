import * as promises from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openEmbeddedStorage } from '../../../plugins/profiler/storage/embedded.js'
import { openFile } from '../../../plugins/profiler/storage/embedded/open.js'
import { profile, tokens } from '../fixture.js'

const MIB = 1024 * 1024

t.test('a disk that is full is not written to, unless the file has room within', async (t) => {
  let free = 0
  const { Room } = await t.mockImport<typeof import('../../../plugins/profiler/storage/embedded/room.js')>('../../../plugins/profiler/storage/embedded/room.js', {
    'node:fs/promises': { ...promises, statfs: async () => ({ bavail: free, bsize: 1 }) }
  })
  const path = join(t.testdir(), 'profiles')
  const storage = await openEmbeddedStorage({ path })
  t.teardown(() => storage.close())
  const shared = await openFile(path, () => {})
  t.teardown(() => shared.leave())
  const room = new Room()
  const asked = async (bytes: number): Promise<string> => await room.check(path, shared.file, bytes, 1).then(() => 'room', (error: Error) => error.message)
  const full = `The store "${path}" cannot be used: the disk is full`
  t.equal(await asked(1), full)
  free = 2 * MIB
  t.equal(await asked(1), 'room')
  t.equal(await asked(2 * MIB), full)

  const failed = new Error('a quota')
  room.failed(failed)
  t.equal(await asked(1), 'a quota', 'as much is free as before: LMDB is left alone for a while')
  free = 8 * MIB
  t.equal(await asked(1), 'room', 'there is more now')
  room.failed(failed)
  room.succeeded()
  t.equal(await asked(1), 'room')

  free = 0
  await storage.put(tokens(1, 400).map((token) => profile(token, { collectors: { text: Buffer.from(Array.from({ length: 12_000 }, () => Math.random() * 256)).toString('base64') } })))
  t.equal(await asked(1), full)
  await storage.purge()
  t.equal(await asked(1), 'room', 'what was purged leaves room')
})
