import t from 'tap'
import { differences, isDefaultAnswer, summary } from '../../observe/differences.js'
import { exchangeOf } from '../../observe/observe.js'
import { observations } from '../../observe/processes.js'
import { requestsFor } from '../../observe/requests.js'
import { VARIANTS } from '../../observe/variants.js'

// Tests of the comparison itself: it finds nothing between equal runs, and each change of an intrusive plugin.

t.test('the application gives the same answers in each run', async (t) => {
  const variants = ['plugins', 'failing onSend', 'logger instance', 'server options']
  const [first, second] = await Promise.all([observations(undefined, variants), observations(undefined, variants, { environment: 'production' })])
  for (const name of variants) {
    const found = differences(name, first, second, 'nothing')
    t.ok(found.length === 0, name, { differences: summary(found) })
  }
})

t.test('the requests with default answers of Fastify are listed', async (t) => {
  const observed = await observations(undefined, ['plugins'])
  const asked = requestsFor(VARIANTS.plugins ?? {})
  t.ok(asked.length >= 60 * 2)
  t.equal(new Set(asked.map(({ name }) => name)).size, asked.length, 'each name is unique')
  for (const { name, page = false, either = false, stranger = false } of asked) {
    const { answer, events } = exchangeOf(observed, 'plugins', name)
    t.ok(answer !== undefined && events !== undefined && (either || stranger || isDefaultAnswer({ answer, events }) === page), name)
  }
})

t.test('a plugin that changes an application is detected', async (t) => {
  const variant = 'no request log'
  const [without, changed] = await Promise.all([observations(undefined, [variant]), observations('intrusive', [variant])])
  for (const allowed of ['nothing', 'debug surface'] as const) {
    const found = differences(variant, without, changed, allowed).map(({ at, place, change }) => `${at}: ${place}: ${change}`).join('\n')
    for (const expected of [
      /^onRoute: routes\[0\]\.handler: "function [^"]*" → "function wrapped\/2 /m,
      /^GET \/text as HTML: answer\.headers\.x-frame-options: none → "DENY"$/m,
      /^GET \/text as HTML: log: 0 → 1 entries, log: the rest: .*an extra line/m,
      /^GET \/callback as HTML: answer\.status: 200 → 405$/m,
      /^GET \/own\/fails as HTML: answer\.body: /m,
      /^GET \/json as HTML: events\[0\]: .* → .*bound wrapped/m
    ]) t.ok(expected.test(found), `${allowed} may differ: ${String(expected)}`)
  }
})
