import t from 'tap'
import { build, profileOf } from '../../packages/hindsight/test/support/app.js'

t.test('each response writes the tag of a file once', async t => {
  const seen: Array<{ useAsset: (url: string) => boolean }> = []
  const app = await build({
    declare (app) {
      app.get('/', async (request) => {
        seen.push(request)
        return [request.useAsset('/a.css'), request.useAsset('/b.js?token=S1cretValue'), request.useAsset('/a.css')]
      })
      app.get('/none', async () => 'none')
    }
  })
  t.teardown(() => app.close())
  for (let i = 0; i < 2; i++) {
    const response = await app.inject('/')
    t.same(response.json(), [true, true, false])
    const profile = await profileOf(app, response)
    t.same(profile.collectors.assets, { files: ['/a.css', '/b.js?token=******'] })
    t.match(profile.events.find(({ listener }) => listener === 'asset-reset'), { outcome: 'ran' })
  }
  t.equal(seen[0]?.useAsset('/a.css'), true, 'the list is released')
  const profile = await profileOf(app, await app.inject('/none'))
  t.match(profile.events.find(({ listener }) => listener === 'asset-reset'), { outcome: 'skipped', reason: 'the response uses no asset' })
  t.equal(profile.collectors.assets, undefined)
})
