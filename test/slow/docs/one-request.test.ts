import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { ROOT } from '../../../packages/hindsight/test/support/snippets.js'

interface Reached {
  statusCode: number
  files: string[]
}

const PAGE = 'docs/architecture.md'
const MAX_FILES = 15
const text = readFileSync(join(ROOT, PAGE), 'utf8')
const section = text.slice(text.indexOf('## One request'), text.indexOf('## Mechanisms'))
/** The columns of the table of files, without its numbers. */
const columns = columnsOf(section)
/** The folders of the files that are called by these, and files outside of them. */
const folders = [...section.slice(section.indexOf('The other files')).matchAll(/`([\w/-]+(?:\/|\.ts))`/g)].map(([, folder = '']) => folder)

const REQUESTS = [
  ['observe', '/nowhere', 404, '404, `observe`'],
  ['observe', '/fails', 500, '500, `observe`'],
  ['observe', '/_profiler/<token>', 200, 'the page of a profile'],
  ['full', '/nowhere', 404, '404, `full`'],
  ['full', '/fails', 500, '500, `full`']
] as const

for (const mode of ['observe', 'full']) {
  const requests = REQUESTS.filter(([of]) => of === mode)
  const reached = reachedBy(mode, requests.map(([, url]) => url))
  for (const [, url, status, title] of requests) {
    t.test(`${PAGE}: the files of ${title}`, async (t) => {
      const listed = columns.get(title) ?? []
      t.ok(listed.length > 5 && listed.length <= MAX_FILES, `${listed.length} files`)
      const { statusCode = 0, files = [] } = (await reached)[url] ?? {}
      t.equal(statusCode, status)
      t.same(files.filter((file) => listed.includes(file)), listed, 'each is reached, in this order')
      const others = files.filter((file) => !listed.includes(file) && !file.startsWith('plugins/'))
      t.same(others.filter((file) => !folders.some((folder) => file.startsWith(folder))), [], 'the others are in the folders that are named')
      const path = listed.filter((file) => !/^lib\/(?:lifecycle|full)\//.test(file))
      if (status !== 200) t.same(others.filter((file) => importsOf(file).some((to) => path.includes(to))), [], 'the others import none of them')
    })
  }
}

/** Runs requests in a process whose functions report their files. */
async function reachedBy (mode: string, urls: string[]): Promise<Record<string, Reached>> {
  const fixture = join(ROOT, 'test/fixtures/reached')
  const args = ['--import=tsx', `--import=${join(fixture, 'register.js')}`, join(fixture, 'requests.ts'), mode, ...urls]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, NODE_ENV: 'test' } })
  return JSON.parse(stdout) as Record<string, Reached>
}

function columnsOf (markdown: string): Map<string, string[]> {
  const rows = markdown.split('\n').filter((line) => /^\| (?:\d+ )?\| /.test(line)).map((line) => line.split('|').slice(2, -1).map((cell) => cell.trim()))
  const [titles = [], ...files] = rows
  return new Map(titles.map((title, i) => [title, files.map((row) => (row[i] ?? '').replaceAll('`', '')).filter((file) => file !== '')]))
}

/** The files that a file imports when it is loaded. */
function importsOf (file: string): string[] {
  const source = readFileSync(join(ROOT, file), 'utf8')
  return [...source.matchAll(/^import (?!type\b)[^']*'(\.[^']+)\.js'/gm)].map(([, to = '']) => `${posix.join(posix.dirname(file), to)}.ts`)
}
