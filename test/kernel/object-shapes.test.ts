import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import t from 'tap'
import { noncesOf } from '../../plugins/kernel/content-policy.js'
import { HeaderTrail, type OutsideChange } from '../../plugins/kernel/header-trail.js'
import { RequestState } from '../../plugins/kernel/request-state.js'
import { SlotMemory } from '../../plugins/kernel/slot-memory.js'

setFlagsFromString('--allow-natives-syntax')
const haveSameShape = runInThisContext('(one, other) => %HaveSameMap(one, other)') as (one: object, other: object) => boolean
const isFast = runInThisContext('(one) => %HasFastProperties(one)') as (one: object) => boolean

/** How many of many have a shape that the one before has not: V8 settles on one, or makes one for each. */
function shapesOf (make: () => object): number {
  const all = Array.from({ length: 200 }, make)
  return all.filter((one, i) => i > 0 && !haveSameShape(one, all[i - 1] as object)).length
}

t.test('nonces have no functions of their own: V8 keeps those until all of the heap is collected, and with them the request', async (t) => {
  t.ok(isFast(noncesOf(new RequestState())))
})

t.test('changes of headers that are noted share a shape: one for each would stay as long', async (t) => {
  const noted = (change: Partial<OutsideChange>): OutsideChange => {
    const trail = new HeaderTrail()
    trail.note({ name: 'x-one', from: undefined, to: '1', after: 0, handling: false, via: 'reply.header', ...change }, noted)
    return trail.changes[0] as OutsideChange
  }
  t.ok(shapesOf(() => noted({})) < 10)
  t.ok(haveSameShape(noted({}), noted({ cookie: 'a' })), 'with the name of a cookie, too')
})

t.test('what listeners and hooks did is told by objects of one shape: each event of each request is compared with them', async (t) => {
  const signature = (place: object): object => new SlotMemory({ index: 1, stage: 'onRequest', listener: 'one', ...place }).signature('main', 'ran', null)
  t.ok(shapesOf(() => signature({})) < 10)
  t.ok(haveSameShape(signature({}), signature({ plugin: '@fastify/cors', source: 'node_modules/@fastify/cors/index.js:1:1' })), 'with a plugin, too')
})
