import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { excerptReader } from '../../../lib/errors/code-excerpt.js'

const folder = t.testdir({
  'ten.ts': Array.from({ length: 10 }, (_, i) => `line ${i + 1}`).join('\n') + '\n',
  'long.ts': 'x'.repeat(9_000),
  'big.ts': 'x\n'.repeat(1_100_000),
  'windows.ts': '\ufeffone\r\ntwo\r\n',
  '.env': 'SECRET=1',
  'secret.txt': 'SECRET=1'
})
mkdirSync(join(folder, 'folder.ts'))

t.test('the lines around', async (t) => {
  t.same(excerptReader()(join(folder, 'ten.ts'), 5, 2), { start: 3, lines: ['line 3', 'line 4', 'line 5', 'line 6', 'line 7'] })
  t.same(excerptReader()(join(folder, 'ten.ts'), 1, 1), { start: 1, lines: ['line 1', 'line 2'] }, 'at the beginning')
  t.same(excerptReader()(join(folder, 'ten.ts'), 10), { start: 5, lines: ['line 5', 'line 6', 'line 7', 'line 8', 'line 9', 'line 10'] }, 'at the end')
  t.same(excerptReader()(join(folder, 'windows.ts'), 1), { start: 1, lines: ['one', 'two'] }, 'without a byte order mark or carriage returns')
  t.equal(excerptReader()(join(folder, 'long.ts'), 1)?.lines[0]?.length, 501, 'long lines are cut')
})

t.test('no excerpt', async (t) => {
  const cases: Array<[file: string, line: number]> = [
    ['ten.ts', 0], ['ten.ts', 11], ['ten.ts', -1], ['big.ts', 1], ['absent.ts', 1], ['folder.ts', 1], ['.env', 1], ['secret.txt', 1]
  ]
  for (const [file, line] of cases) t.equal(excerptReader()(join(folder, file), line), undefined, `${file}:${line}`)
  t.equal(excerptReader()('package.ts', 1), undefined, 'a relative path')
  t.equal(excerptReader()('/dev/zero', 1), undefined, 'a device')
  t.equal(excerptReader()('/nul\0l.ts', 1), undefined, 'NUL in the path')
})

t.test('a changed file is read again, and many files are read in turn', async (t) => {
  const file = join(folder, 'changing.ts')
  writeFileSync(file, 'old')
  t.same(excerptReader()(file, 1)?.lines, ['old'])
  writeFileSync(file, 'new')
  utimesSync(file, new Date(), new Date(Date.now() + 5_000))
  t.same(excerptReader()(file, 1)?.lines, ['new'])
  for (let i = 0; i < 60; i++) {
    const other = join(folder, `many-${i}.ts`)
    writeFileSync(other, `text ${i}`)
    t.same(excerptReader()(other, 1)?.lines, [`text ${i}`])
  }
  t.same(excerptReader()(file, 1)?.lines, ['new'])
})
