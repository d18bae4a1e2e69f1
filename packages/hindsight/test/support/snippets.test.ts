import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { namedCommandProblems, shellProblems } from './shell.js'
import { compiled, pageProblems, ROOT, runSnippet, snippetsOf, type Snippet } from './snippets.js'
import { testdir } from './folder.js'

function page (t: Test, text: string): string {
  const folder = testdir(t)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'page.md'), text)
  return relative(ROOT, join(folder, 'page.md'))
}

const snippet = (language: string, code: string): Snippet => ({ place: 'page:1', language, code, mark: '' })

t.test('snippets are found with their language, marker and line', async (t) => {
  const path = page(t, '# Title\n\n```ts\nconst a = 1\n```\n\n<!-- run -->\n```js\nlet b\n```\n\n```\nno language\n```\n\n<!-- a remark ' +
    '-->\n\nText\n\n```sh\nls\n```\n\n- In a list\n\n  ```sh\n  ls \\\n    -l\n  ```\n')
  t.same(snippetsOf(path).map(({ place, language, code, mark }) => [place.split(':').at(-1), language, code, mark]), [
    ['4', 'ts', 'const a = 1\n', ''], ['9', 'js', 'let b\n', 'run'], ['13', '', 'no language\n', ''], ['21', 'sh', 'ls\n', ''], [
      '27', 'sh', 'ls \\\n  -l\n', ''
    ]
  ])
})

t.test('the compiler resolves the package by its name, and reports errors', async (t) => {
  const good = snippet(
    'ts', "import Fastify from 'fastify'\nimport hindsight from 'fastify-hindsight'\nconst app = Fastify()\nawait app.register(hindsight, { debug: true })\n"
  )
  const bad = snippet('ts', "import Fastify from 'fastify'\nimport hindsight from 'fastify-hindsight'\nawait Fastify().register(hindsight, { debgu: true })\n")
  const unknown = snippet('js', 'nobody()\n')
  const declared = snippet('ts', 'const found: number = known(1)\n')
  const [first = '', second = '', ...others] = compiled([good, bad, unknown, declared], 'declare function known (n: number): number')
  t.match(first, /page:1: .*debgu/s)
  t.match(second, /Cannot find name 'nobody'/)
  t.same(others, [])
})

t.test('unknown variables, scripts and commands of a shell snippet are reported', async (t) => {
  t.same(shellProblems(snippet('sh', "PORT=1 LOG_LEVEL='a b' npm run lint\nnpx fastify-hindsight list\nexport DATA_DIR=/x\n")), [])
  t.match(shellProblems(snippet('sh', 'PRT=1 HOST=x npm run lnt; npx fastify-hindsight lst\n')), [/no variable "PRT"/, /no script "lnt"/, /no command "lst"/])
  t.match(shellProblems(snippet('sh', 'if true\n')), [/does not read it/])
  const wrong = 'npx fastify-hindsight list --statsu 404\nnpx fastify-hindsight show\nnpm run bench -- --pears 2\nA=1 npx tpa test/none.ts | npm strat > x # ' +
    'npm nothing\n'
  t.match(
    shellProblems(snippet('sh', wrong)),
    [/"--statsu"/, /arguments given: 0/, /no flag "--pears"/, /no variable "A"/, /no program "tpa"/, /no file "test\/none.ts"/, /no script "strat"/]
  )
})

t.test('commands in the text of a page are found', async (t) => {
  const path = page(t, 'Run `fastify-hindsight show` or `npx fastify-hindsight queries <token> --json`, not `fastify-hindsight shwo x`, `fastify-hindsight ' +
    'list --al` or `npm run bnch`.\n\n```sh\nhindsight none\n```\n')
  t.match(namedCommandProblems(path), [/"shwo"/, /"--al"/, /"bnch"/])
  t.equal(namedCommandProblems(path).length, 3)
})

t.test('a whole page is checked, and its snippets run', async (t) => {
  t.match(pageProblems(page(t, '```json\n{ a }\n```\n\n```sh\nnpx fastify-hindsight lst\n```\n')), [/JSON/, /lst/])
  t.match(
    await runSnippet(snippet('js', "import { hindsight } from 'fastify-hindsight'\nexport const text = typeof hindsight\n"), testdir(t)), { text: 'function' }
  )
  t.match(await runSnippet(snippet('ts', 'export const text: string = "x"\n'), testdir(t)), { text: 'x' })
  await t.rejects(runSnippet(snippet('js', 'throw new Error("no")\n'), testdir(t)), { message: 'no' })
})
