import t from 'tap'
import { growth } from '../../observe/processes.js'

const LIMIT = 2 * 1024 * 1024

t.test('closed applications are garbage-collected', async (t) => {
  const [without, observed] = await Promise.all([growth(), growth('debug')])
  t.ok(observed - without <= LIMIT, `${Math.round((observed - without) / 1024)} kB more than without the plugin`)
})
