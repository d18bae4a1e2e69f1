import t from 'tap'
import Fastify from 'fastify'
import { OPTIONS, ROUTE_OPTIONS } from '../src/check-options.js'
import { hindsight } from '../src/hindsight.js'
import schema from '../src/options.schema.json' with { type: 'json' }

t.test('the checked options are those of the schema', async (t) => {
  t.same([OPTIONS, ROUTE_OPTIONS], [schema.plugin.properties, schema.route.properties])
})

const mistakes: Array<[name: string, options: object, message: string]> = [
  ['a slip of the pen', { debugHost: ['x'] }, 'Unknown option "debugHost"; did you mean "debugHosts"?'],
  ['swapped neighbors', { toolabr: false }, 'Unknown option "toolabr"; did you mean "toolbar"?'],
  ['another case', { Mask: [] }, 'Unknown option "Mask"; did you mean "mask"?'],
  ['a nested slip', { profiler: { storag: 'memory' } }, 'Unknown option "profiler.storag"; did you mean "storage"?'],
  ['an option of the service', { cors: [] }, 'Unknown option "cors"; use one of '],
  ['a wrong type', { debug: 'yes' }, 'Option "debug" must be a boolean, not a string'],
  ['one of several types', { profiler: 0 }, 'Option "profiler" must be "all", "errors", an object or false, not a number'],
  ['true where only false switches', { profiler: true }, 'Option "profiler" must be "all", "errors", an object or false, not a boolean'],
  ['null', { mask: null }, 'Option "mask" must be an array, not null'],
  ['no number', { profiler: { sampling: NaN } }, 'Option "profiler.sampling" must be a number from 0 to 1, not NaN'],
  ['a name of every object', { constructor: 1 }, 'Unknown option "constructor"; use one of '],
  ['fewer than none', { profiler: { maxProfiles: -1 } }, 'Option "profiler.maxProfiles" must be a whole number from 1, not -1'],
  ['no profile at all', { profiler: { maxProfiles: 0 } }, 'Option "profiler.maxProfiles" must be a whole number from 1, not 0'],
  ['half a profile', { profiler: { maxProfiles: 1.5 } }, 'Option "profiler.maxProfiles" must be a whole number from 1, not 1.5'],
  ['an unknown word', { profiler: 'everything' }, 'Option "profiler" must be "all", "errors", an object or false, not "everything"'],
  ['a name to mask of another type', { mask: [5] }, 'Option "mask[0]" must be a string or a RegExp, not a number']
]

for (const [name, options, message] of mistakes) {
  t.test(`${name} stops the start`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(
      Promise.resolve(app.register(hindsight, { debug: true, ...options })),
      { message: message.endsWith(' ') ? new RegExp(`^${message}`) : message }
    )
  })
}

t.test('an option with the value undefined is not set', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { profiler: { storage: 'memory' }, ...{ mask: undefined } } as object)
  t.ok(app.hindsight.debug)
})
