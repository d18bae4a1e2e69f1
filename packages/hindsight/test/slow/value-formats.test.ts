import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { CallValues } from '../../src/errors/exception.js'
import { SHAPES } from '../fixtures/failing/shapes.js'
import { Process } from '../support/process.js'
import { writeFormats, type Format } from './support/formats.js'

const project = realpathSync(mkdtempSync(join(tmpdir(), 'hindsight-formats-')))
t.teardown(() => rmSync(project, { recursive: true, force: true }))

type Found = Record<string, { calls: CallValues[] }>

async function valuesOf ({ args }: Format): Promise<Found> {
  const env = { NODE_ENV: 'development', TS_NODE_PROJECT: join(project, 'ts/tsconfig.json') }
  const { ended, ...said } = await run(args, env)
  t.equal(ended, 0, said.stderr)
  return JSON.parse(/^\{.*\}$/m.exec(said.stdout)?.[0] ?? '{}') as Found
}

async function run (args: string[], env: Record<string, string>): Promise<{ stdout: string, stderr: string, ended: number | null }> {
  const started = new Process({ args, env, cwd: project })
  const ended = await started.ended
  return { stdout: started.stdout, stderr: started.stderr, ended }
}

const texts = (variables: CallValues['variables']): Record<string, unknown> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]))

const formats = await writeFormats(project)

for (const [name, format] of Object.entries(formats)) {
  t.test(`values of ${name}`, async (t) => {
    const found = await valuesOf(format)
    const file = join(project, format.source)
    const source = readFileSync(file, 'utf8')
    const words = new Set(source.match(/[\w$]+/g))
    const lines = source.split('\n')
    let right = 0
    for (const [shape, { expected }] of Object.entries(SHAPES)) {
      const { calls } = found[shape]!
      const names = calls.flatMap(({ variables, function: called }) => [called, ...variables.map((variable) => variable.name)])
      t.same(names.join('.').split('.').filter((one) => one !== '' && !words.has(one)), [], `${shape}: names of the source`)
      const keys = Object.keys(expected)
      const call = calls.find(({ variables }) => keys.every((key) => key in texts(variables)))
      // A minifier replaces variables by their values.
      if (format.isReduced === true && call === undefined) continue
      right++
      t.match(texts(call?.variables ?? []), expected, shape)
      t.equal(call?.file, file)
      for (const key of keys) t.match(lines[call!.line - 1], key)
    }
    if (format.isReduced === true) t.ok(right >= 8)
    else t.equal(right, Object.keys(SHAPES).length)
  })
}
