import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { functionPlace } from '../../src/errors/declared-place.js'
import { testdir } from '../support/folder.js'

t.test('a method has the file and line of its definition, also in a file that is loaded later', async (t) => {
  const folder = testdir(t)
  for (const [name, line] of [['first', 3], ['second', 5]] as const) {
    const file = join(folder, `${name}.mjs`)
    writeFileSync(file, `${'\n'.repeat(line - 2)}export class Cats {\n  find () {}\n}\n`)
    const { Cats } = await import(pathToFileURL(file).href) as { Cats: new () => { find: () => void } }
    t.equal(functionPlace(new Cats().find), `${file}:${line}`)
  }
})

t.test('a value without a place yields null, and no global variable remains', async (t) => {
  const bound = Math.max.bind(null)
  const hostile = new Proxy(() => {}, { get () { throw new Error('trap') } })
  for (const one of [Math.max, bound, {}, hostile]) t.equal(functionPlace(one), null)
  t.equal(Reflect.has(globalThis, Symbol.for('hindsight.function')), false)
})
