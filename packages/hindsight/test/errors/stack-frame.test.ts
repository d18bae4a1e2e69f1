import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { excerptAt } from '../../src/errors/source-file.js'
import { splitStack, stackFrames } from '../../src/errors/stack-frame.js'
import { testdir } from '../support/folder.js'

const INTERNAL = fileURLToPath(new URL('../../src/errors/report.ts', import.meta.url))
const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')

const cases: Array<[line: string, expected: { file: string, line: number, column: number, function: string, own: boolean }]> = [
  ['at handler (/app/routes/a.ts:3:9)', { file: '/app/routes/a.ts', line: 3, column: 9, function: 'handler', own: true }],
  ['at file:///app/routes/a%20b.ts:3:9', { file: '/app/routes/a b.ts', line: 3, column: 9, function: '<anonymous>', own: true }],
  ['at async load (file:///app/a.ts?v=2:1:2)', { file: '/app/a.ts', line: 1, column: 2, function: 'async load', own: true }],
  ['at async file:///app/a.ts:1:2', { file: '/app/a.ts', line: 1, column: 2, function: 'async <anonymous>', own: true }],
  ['at new Basket (/app/(admin)/b.ts:5:6)', { file: '/app/(admin)/b.ts', line: 5, column: 6, function: 'new Basket', own: true }],
  ['at Object.save [as run] (/app/a.ts:1:2)', { file: '/app/a.ts', line: 1, column: 2, function: 'save [as run]', own: true }],
  ['at async Object.<anonymous> (/app/a.ts:1:2)', { file: '/app/a.ts', line: 1, column: 2, function: 'async <anonymous>', own: true }],
  ['at eval (eval at run (/app/a.js:7:8), <anonymous>:1:1)', { file: '/app/a.js', line: 7, column: 8, function: 'eval', own: true }],
  ['at fastify (/app/node_modules/fastify/x.js:1:2)', { file: '/app/node_modules/fastify/x.js', line: 1, column: 2, function: 'fastify', own: false }],
  [
    'at process.tick (node:internal/process/task_queues:95:5)',
    { file: 'node:internal/process/task_queues', line: 95, column: 5, function: 'process.tick', own: false }
  ],
  ['at Array.map (native)', { file: '', line: 0, column: 0, function: 'Array.map', own: false }],
  ['at other (/elsewhere/a.ts:1:2)', { file: '/elsewhere/a.ts', line: 1, column: 2, function: 'other', own: true }],
  ['at wasm (wasm://wasm/0a:1:2)', { file: 'wasm://wasm/0a', line: 1, column: 2, function: 'wasm', own: false }],
  ['at <img src=x> (/app/"><b>.ts:1:2)', { file: '/app/"><b>.ts', line: 1, column: 2, function: '<img src=x>', own: true }]
]

for (const [line, expected] of cases) {
  t.test(line, async (t) => t.same(stackFrames(`    ${line}`), [expected]))
}

t.test('a line of another form is not a frame', async (t) => {
  for (const stack of ['', 'no stack at all', 'fn@http://x/a.js:1:2', '    at ', '    at nowhere']) t.same(stackFrames(stack), [], stack)
})

t.test('a line of 60 kB is not a frame', async (t) => {
  t.same(stackFrames(`    at ${'a'.repeat(60_000)}`), [])
})

t.test('frames of Hindsight are recognized', async (t) => {
  const internal = `    at inner (${INTERNAL}:1:1)`
  t.same(stackFrames(internal).map((frame) => frame.own), [false])
  const both = stackFrames(`${internal}\n    at route (${CHECKOUT}/routes/a.ts:1:1)`)
  t.same(both.map((frame) => frame.own), [false, true], 'those of a route are own')
})

t.test('lines of the message are not frames', async (t) => {
  const forged = 'one\n    at forged (/app/secret.ts:1:1)'
  const stack = `Error: ${forged}\n    at real (/app/a.ts:1:1)`
  t.same(splitStack(stack, forged), { head: `Error: ${forged}`, frames: '    at real (/app/a.ts:1:1)' })
  t.same(splitStack('Error: was\nmore\n    at real (/app/a.ts:1:1)\n', 'is').frames, '    at real (/app/a.ts:1:1)', 'nor one that was changed later')
  t.same(splitStack('Error\n    at real (/app/at.ts:1:1)', 'at.ts').frames, '    at real (/app/at.ts:1:1)', 'nor one that a path contains')
})

t.test('a source map is applied once, if the runtime has not applied it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-map-'))
  const generated = join(folder, 'built.mjs')
  // `;;AAUA` leads the third line of what was built back to the eleventh of what was written.
  const map = { version: 3, sources: ['written.ts'], names: [], mappings: ';;AAUA' }
  const comment = '//# source' + 'MappingURL=data:application/json;base64,' + Buffer.from(JSON.stringify(map)).toString('base64')
  writeFileSync(generated, `//\n//\nexport const built = true\n${comment}\n`)
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(generated).href)
  const [frame] = stackFrames(`    at fn (${pathToFileURL(generated).href}:3:1)`)
  t.match(frame, { file: join(folder, 'written.ts'), line: 11, column: 1, own: true })
  const [again] = stackFrames(`    at fn (${frame?.file}:11:1)`)
  t.match(again, { file: join(folder, 'written.ts'), line: 11, column: 1 })
})

t.test('a frame that is not mapped has its source also where the file is its own source', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-map-'))
  const file = join(folder, 'own.mjs')
  const map = { version: 3, sources: ['own.mjs'], names: [], mappings: ';;AAUA' }
  const comment = '//# source' + 'MappingURL=data:application/json;base64,' + Buffer.from(JSON.stringify(map)).toString('base64')
  writeFileSync(file, `//\n//\nexport const own = true\n${comment}\n`)
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(file).href)
  const line = `    at fn (${pathToFileURL(file).href}:3:1)`
  t.match(stackFrames(line, { isMapped: false }), [{ file, line: 11, column: 1, own: true }])
  t.match(stackFrames(line), [{ file, line: 3, column: 1, own: true }])
})

const sources = testdir(t, {
  'ten.ts': Array.from({ length: 10 }, (_, i) => `line ${i + 1}`).join('\n') + '\n',
  'long.ts': 'x'.repeat(9_000),
  'big.ts': 'x\n'.repeat(1_100_000),
  'windows.ts': '\ufeffone\r\ntwo\r\n',
  '.env': 'SECRET=1',
  'secret.txt': 'SECRET=1'
})
mkdirSync(join(sources, 'folder.ts'))

t.test('an excerpt has the lines around the frame', async (t) => {
  t.same(excerptAt(join(sources, 'ten.ts'), 5, 2), { start: 3, lines: ['line 3', 'line 4', 'line 5', 'line 6', 'line 7'] })
  t.same(excerptAt(join(sources, 'ten.ts'), 1, 1), { start: 1, lines: ['line 1', 'line 2'] }, 'at the beginning')
  t.same(excerptAt(join(sources, 'ten.ts'), 10), { start: 5, lines: ['line 5', 'line 6', 'line 7', 'line 8', 'line 9', 'line 10'] }, 'at the end')
  t.same(excerptAt(join(sources, 'windows.ts'), 1), { start: 1, lines: ['one', 'two'] }, 'without a byte order mark or carriage returns')
  t.equal(excerptAt(join(sources, 'long.ts'), 1)?.lines[0]?.length, 501, 'long lines are cut')
})

t.test('missing, binary and oversized files have no excerpt', async (t) => {
  const cases: Array<[file: string, line: number]> = [
    ['ten.ts', 0], ['ten.ts', 11], ['ten.ts', -1], ['big.ts', 1], ['absent.ts', 1], ['folder.ts', 1], ['.env', 1], ['secret.txt', 1]
  ]
  for (const [file, line] of cases) t.equal(excerptAt(join(sources, file), line), undefined, `${file}:${line}`)
  t.equal(excerptAt('package.ts', 1), undefined, 'a relative path')
  t.equal(excerptAt('/dev/zero', 1), undefined, 'a device')
  t.equal(excerptAt('/nul\0l.ts', 1), undefined, 'NUL in the path')
})

t.test('a changed file is read again, and many files are read in turn', async (t) => {
  const file = join(sources, 'changing.ts')
  writeFileSync(file, 'old')
  t.same(excerptAt(file, 1)?.lines, ['old'])
  writeFileSync(file, 'new')
  utimesSync(file, new Date(), new Date(Date.now() + 5_000))
  t.same(excerptAt(file, 1)?.lines, ['new'])
  for (let i = 0; i < 60; i++) {
    const other = join(sources, `many-${i}.ts`)
    writeFileSync(other, `text ${i}`)
    t.same(excerptAt(other, 1)?.lines, [`text ${i}`])
  }
  t.same(excerptAt(file, 1)?.lines, ['new'])
})
