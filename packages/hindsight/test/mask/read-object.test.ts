import t from 'tap'
import { createMask } from '../../src/mask/mask.js'
import { firstItems, JsonReader, readEntries } from '../../src/mask/read-object.js'
import { snapshotOf } from '../../src/parts/collect.js'

const COUNT = 100_000

class Order {
  readonly items: unknown
  constructor (items: unknown) { this.items = items }
}

/** Large values of each kind, whose items are counted when they are read. */
function largeValues (itemOf: () => object): Array<[kind: string, value: unknown]> {
  const items = Array.from({ length: COUNT }, itemOf)
  return [
    ['an instance of a class', new Order(items)],
    ['instances in instances', new Order(items.map((item) => new Order(item)))],
    ['an instance with many fields', Object.assign(new Order(1), items)],
    ['a list', items],
    ['a class of lists', Object.assign(new (class extends Array<unknown> {})(), items)],
    ['a map', new Map(items.entries())],
    ['a set', new Set(items)],
    ['an error', Object.assign(new Error('m'), { items })],
    ['what toJSON returns', { toJSON: () => items }]
  ]
}

t.test('the copy of a value of any kind has one bound, and so has its masked form', async (t) => {
  let reads = 0
  const mask = createMask()
  for (const [kind, value] of largeValues(() => ({ toJSON () { return ++reads } }))) {
    for (const [how, copied, most] of [['copied', snapshotOf, 40_000], ['masked', mask.value.bind(mask), 5_000]] as const) {
      reads = 0
      const text = JSON.stringify(copied(value))
      t.ok(reads > 0 && reads <= most, `${kind}, ${how}: ${reads} items are read`)
      t.match(text, /\d more (?:items|fields)/, kind)
      t.ok(text.length < 300_000)
    }
  }
})

t.test('no getter runs, no trap of a proxy and no method but toJSON', async (t) => {
  const calls: string[] = []
  const trap = new Proxy({}, { get: (_, name) => () => { calls.push(`the trap ${name as string}`) } })
  const called = (name: string) => function (): string {
    calls.push(name)
    return name
  }
  class Hostile {
    a = 1
    get b (): string { return called('a getter of the class')() }
    toString = called('toString')
    valueOf = called('valueOf')
    static get name (): string { return called('a static getter')() }
    [Symbol.iterator] = called('an iterator')
  }
  const values = [
    new Proxy({ a: 1 }, trap),
    new Proxy([1], trap),
    Object.create(new Proxy({}, trap)),
    Object.defineProperty({}, 'pipe', { enumerable: true, get: called('a getter') }),
    Object.defineProperty([1], 0, { enumerable: true, get: called('a getter of an item') }),
    Object.defineProperty({}, 'toJSON', { enumerable: true, get: called('a getter of toJSON') }),
    { password: Object.assign(() => {}, { toString: called('toString of a function') }) },
    { params: new Proxy([1], trap), sql: 'select' },
    { name: new Proxy([1], trap), value: 1 },
    new Map([[new Hostile(), new Hostile()]]),
    Object.assign(new Map(), { entries: called('entries'), [Symbol.iterator]: called('an iterator') }),
    Object.assign(new Set(), { values: called('values'), [Symbol.iterator]: called('an iterator') }),
    Object.defineProperty(new Error('m'), 'message', { get: called('a getter of an error') }),
    Hostile,
    new Hostile()
  ]
  for (const value of values) {
    createMask().value(value)
    createMask().value(snapshotOf(value))
    t.same(calls.splice(0), [])
  }
  t.match(snapshotOf(new Hostile()), { a: 1 })
})

t.test('toJSON is called as long as that takes little time', async (t) => {
  let calls = 0
  class Slow {
    toJSON (): string {
      calls++
      const end = performance.now() + 20
      while (performance.now() < end);
      return 'slow'
    }
  }
  const copy = snapshotOf(Array.from({ length: 20 }, () => new Slow())) as string[]
  t.ok(calls >= 1 && calls <= 3)
  t.same([copy[0], copy.at(-1)], ['slow', '[Slow]'])
  t.same(new JsonReader().replacementOf(new Date(NaN)), { value: 'Invalid Date' })
})

t.test('a copy is made at once, and has no circle', async (t) => {
  const order: { items: unknown } & Record<string, unknown> = Object.assign(Object.create({}) as object, { items: ['a'], at: new Date(0), self: null })
  order.self = order
  const copy = snapshotOf(order)
  order.items = 'changed'
  t.same(copy, { items: ['a'], at: '1970-01-01T00:00:00.000Z', self: '[circular]' })
})

t.test('entries are counted', async (t) => {
  t.same(readEntries([1, 2, 3], 2), { isList: true, size: 3, entries: [['0', 1], ['1', 2]] })
  t.same(readEntries(new Set([1, 2]), 1), { isList: true, size: 2, entries: [['', 1]] })
  t.same(readEntries(new Map([['a', 1], ['b', 2]]), 1), { isList: false, size: 2, entries: [['a', 1]] })
  t.same(readEntries(Object.assign(new Error('m'), { code: 'E' }), 9).entries, [['name', 'Error'], ['message', 'm'], ['cause', undefined], ['code', 'E']])
  t.same(firstItems(new Set([1]), 5), { items: [1], size: 1 })
})
