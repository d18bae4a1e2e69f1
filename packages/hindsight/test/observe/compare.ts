import t from 'tap'
import { isLong } from '../support/long.js'
import { differences, summary, type Allowed } from './differences.js'
import { exchangeOf, type Observations } from './observe.js'
import { VARIANTS } from './variants.js'

/** `OBSERVE_VARIANTS=plugins,helmet` compares these alone. */
export const variants = process.env.OBSERVE_VARIANTS?.split(',') ?? Object.keys(VARIANTS)

/** Where the application is observed by fewer hooks, or by the same that another test compares: one variant of each kind. */
const KINDS = ['short pluginTimeout', 'plugins', 'failing onSend', 'child loggers', 'server options']
const isWhole = isLong || process.env.OBSERVE_VARIANTS !== undefined
export const fewVariants = isWhole ? variants : variants.filter((name) => KINDS.includes(name))

type Observe = () => Promise<Observations>
export type Run = readonly [name: string, allowed: Allowed, without: Observe, observe: Observe]

/** Declares a test for each run: it observes the application without and with Hindsight, and compares. */
export function compare (runs: readonly Run[]): void {
  t.jobs = 2
  for (const [name, allowed, observeWithout, observe] of runs) {
    t.test(`${name} changes nothing`, { buffered: true }, async (t) => {
      const [without, observed] = await Promise.all([observeWithout(), observe()])
      t.ok(Object.keys(observed).length > 0, 'something was observed')
      for (const variant of Object.keys(observed)) {
        const found = differences(variant, without, observed, allowed)
        t.ok(found.length === 0, variant, { differences: summary(found) })
      }
      if (allowed === 'nothing') return
      const [json, page] = ['GET /json as HTML', 'GET /page as HTML'].map((request) => exchangeOf(observed, variants[0] ?? '', request).answer)
      t.match(json?.headers, { 'x-debug-token': /^[0-9a-f]{6}$/, 'x-debug-token-link': /\/_profiler\/[0-9a-f]{6}$/ }, 'it observes')
      t.match(Buffer.from(page?.body ?? '', 'base64').toString(), /<hindsight-toolbar/, 'it adds its toolbar')
    })
  }
}
