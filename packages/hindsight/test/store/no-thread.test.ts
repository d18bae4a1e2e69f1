import { syncBuiltinESMExports } from 'node:module'
import workerThreads, { Worker, type WorkerOptions } from 'node:worker_threads'
import t from 'tap'
import { openStorage } from '../../src/store/open.js'
import { recordOf } from '../../src/store/summary.js'
import { profile } from '../parts/fixture.js'
import { testdir } from '../support/folder.js'

/** As under Yarn Plug'n'Play: the file of the thread is not found. */
class LostWorker extends Worker {
  constructor (_file: URL, options: WorkerOptions) {
    super(new URL('./missing.js', import.meta.url), options)
  }
}

/** As under the permissions of Node.js. */
class RefusedWorker {
  constructor () {
    throw new Error('Access to this API has been restricted')
  }
}

const { Worker: RealWorker } = workerThreads

/** Replaces the class in all modules. The stores of a process share a thread: none may run before. */
function replaceWorker (replacement: unknown): void {
  Object.assign(workerThreads, { Worker: replacement })
  syncBuiltinESMExports()
}

for (const [name, Replaced, reason] of [
  ['ends', LostWorker, /its thread ended: Cannot find module '.*missing\.js'/], ['is refused', RefusedWorker, /Access to this API has been restricted/]
] as const) {
  t.test(`where the thread ${name}, profiles of an application are kept in memory, with one warning`, async (t) => {
    replaceWorker(Replaced)
    t.teardown(() => { replaceWorker(RealWorker) })
    const warnings: string[] = []
    const options = { dataDir: testdir(t), maxProfiles: 9, warn: (message: string) => warnings.push(message) }
    const opened = await openStorage(options)
    await Promise.all(['000001', '000002'].map(async (token) => await opened.put([recordOf(profile(token))])))
    t.match(await opened.get('000001'), { token: '000001' })
    t.match(await opened.stats(), { engine: 'memory', profiles: 2, maxProfiles: 9 })
    await opened.close()
    t.match(warnings, [/^Profiles are kept in memory only: /])
    t.match(warnings, [reason])
    t.equal(warnings.length, 1)
  })
}
