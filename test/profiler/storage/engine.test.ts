import * as modules from 'node:module'
import t from 'tap'
import { loadEngine } from '../../../plugins/profiler/storage/embedded/engine.js'

const place = modules.createRequire(import.meta.url).resolve('lmdb')

t.test('the engine is loaded without its source maps, and those of others stay as they were', async (t) => {
  const before = process.sourceMapsEnabled
  t.teardown(() => process.setSourceMapsEnabled(before))
  process.setSourceMapsEnabled(true)
  t.type(loadEngine(), 'function')
  t.equal(process.sourceMapsEnabled, true)
  if (!('getSourceMapsSupport' in modules)) t.notOk(modules.findSourceMap(place))
  process.setSourceMapsEnabled(false)
  t.type(loadEngine(), 'function')
  t.equal(process.sourceMapsEnabled, false)
})
