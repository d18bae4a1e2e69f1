import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbeddedStorage } from '../../../plugins/profiler/storage/embedded.js'
import { storageContract } from './contract.js'

function place (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'profiles')
}

t.test('contract', (t) => storageContract(t, async (bounds) => await openEmbeddedStorage({ path: place(t), ...bounds })))
