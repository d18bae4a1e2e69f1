import t from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../app/service.js'
import { withFewMembers } from '../../lib/log-error.js'
import { SECRET } from '../../packages/hindsight/test/support/app.js'

interface Line { level: number, err: { type: string, code: string, message: string, aggregateErrors: Array<{ message: string }> } }

const many = (count: number): Error[] => Array.from({ length: count }, (_, i) => new Error(`number ${i}`))

t.test('the line of an AggregateError has its first members, whose stacks are the only ones that are read', async (t) => {
  const lines: Line[] = []
  const app = Fastify({ pluginTimeout: 60_000, logger: { stream: { write: (line: string) => { lines.push(JSON.parse(line) as Line) } } } })
  const guest = app as unknown as FastifyInstance
  await guest.register(service, { debug: true, profiler: { storage: 'memory' }, session: { secret: SECRET } })
  const read = new Set<number>()
  guest.get('/', async () => {
    const members = many(1_000).map((error, i) => Object.defineProperty(error, 'stack', { get () { read.add(i); return 'x' } }))
    throw Object.assign(new AggregateError(members, 'all'), { code: 'MANY' })
  })
  t.teardown(() => app.close())
  await app.inject('/')
  const [{ err } = t.fail('no line') as never] = lines.filter(({ level }) => level === 50)
  t.match(err, { type: 'AggregateError', code: 'MANY', message: 'all' })
  t.same(err.aggregateErrors.map(({ message }) => message), many(20).map(({ message }) => message))
  t.ok(read.size <= 100, `${read.size} stacks`)
})

t.test('an error with few members is logged as it is', async (t) => {
  for (const error of [
    new Error('x'), new AggregateError(many(20)), new AggregateError([new AggregateError(many(5)), 1]), Object.assign(new Error(), { errors: 'x' }),
    'x', null, undefined
  ]) t.equal(withFewMembers(error), error)
})

t.test('members of members are bounded, too, also in a cycle', async (t) => {
  const { errors } = withFewMembers(new AggregateError([new AggregateError(many(9)), new Error('x')]))
  t.same(errors.map((error: AggregateError) => error.errors?.length), [5, undefined])
  const cycle = new AggregateError([])
  cycle.errors.push(cycle)
  t.equal(withFewMembers(cycle).errors.length, 1)
})
