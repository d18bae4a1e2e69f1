import t from 'tap'
import { isProfilerPath, isProfilePath } from '../../src/http/requests.js'
import { inBothProducts } from '../support/products.js'

t.test('the paths of the profiler, in each spelling that a router may accept', async (t) => {
  for (const path of ['/_profiler', '/_profiler/', '/_profiler/3fa94c.json', '/_wdt/3fa94c', '/_error/1', '//_profiler', '/%5Fprofiler/x', '/_PROFILER/x']) {
    t.ok(isProfilerPath(path), path)
    t.ok(isProfilerPath(`/base${path}`, '/base'), `/base${path}`)
    t.notOk(isProfilerPath(path, '/base'), `${path} of the application`)
    if (!path.includes('_error')) t.ok(isProfilePath(`/base${path}`, '/base'), `/base${path}`)
  }
  for (const path of ['/', '/_profilers', '/x/_profiler', '/profiler', '/%zz', '/_fragment']) t.notOk(isProfilerPath(path), path)
  t.notOk(isProfilePath('/_profiler', '/base'))
  t.notOk(isProfilePath('/_error/1', ''), 'previews of error pages have profiles')
})

inBothProducts('a page of the profiler is not profiled; an unknown path is, in the service', async (t, build, product) => {
  const app = await build()
  for (const url of ['/_profiler/', '/_profiler/no/page', '/_wdt/no/page', '/_error/404', '/_PROFILER/x', '/x']) await app.inject(url)
  const { profiles } = await app.hindsight.profiler.search({ limit: 10 })
  const ofProfiler = product === 'service' ? ['/_PROFILER/x', '/_error/404', '/_wdt/no/page', '/_profiler/no/page'] : []
  t.strictSame(profiles.map(({ url }) => new URL(url).pathname), ['/x', ...ofProfiler])
})
