import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import type { FastifyPluginAsync } from 'fastify'
import t from 'tap'
import { stackFrames } from '../../src/errors/stack-frame.js'
import type { Profile } from '../../src/store/profile.js'
import { inBothProducts } from '../support/products.js'
import { withoutMarks } from '../support/marks.js'

// The tests are started in another folder, as an application of a monorepo may be.
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hindsight-workspace-')))
t.teardown(() => rmSync(folder, { recursive: true }))

const ROUTES = `const { price } = require('pricing')

module.exports = async function routes (app) {
  app.get('/', async function buy () {
    return price()
  })
}
`
for (const [file, text] of Object.entries({
  'packages/pricing/index.js': "exports.price = function price () {\n  throw new Error('No price')\n}\n",
  'apps/shop/routes.js': ROUTES,
  'apps/shop/node_modules/installed/index.js': 'exports.installed = function installed () {}\n'
})) {
  mkdirSync(join(folder, file, '..'), { recursive: true })
  writeFileSync(join(folder, file), text)
}
mkdirSync(join(folder, 'node_modules'))
symlinkSync('../packages/pricing', join(folder, 'node_modules/pricing'))

inBothProducts('the code of a workspace is the application\'s, wherever the process was started', async (t, build) => {
  const { default: routes } = await import(pathToFileURL(join(folder, 'apps/shop/routes.js')).href) as { default: FastifyPluginAsync }
  const app = await build((app) => app.register(routes))
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const profile = `/_profiler/${page.headers['x-debug-token']}`
  const { exceptions } = (await app.inject(`${profile}.json`)).json<Profile>()
  const own = exceptions[0]?.frames.filter((frame) => frame.own) ?? []
  const pricing = join(folder, 'packages/pricing/index.js')
  t.same(own.map(({ file, line, excerpt }) => [file, line, excerpt?.lines[line - excerpt.start]]), [
    [pricing, 2, "  throw new Error('No price')"], [join(folder, 'apps/shop/routes.js'), 5, '    return price()']
  ])
  t.ok(page.body.includes(`The handler of GET / (${join(folder, 'apps/shop/routes.js')}:4) failed with`), 'where the route was declared')
  const markdown = withoutMarks((await app.inject(`${profile}.md`)).body)
  t.match(markdown, `\`${pricing}:2\`\n\n\`\`\`js\n  1 | exports.price = function price () {\n> 2 |   throw new Error`)
})

t.test('a file that is reached by a link of a workspace is not part of a package', async (t) => {
  const [linked, installed] = stackFrames([
    `    at price (${folder}/node_modules/pricing/index.js:2:9)`, `    at installed (${folder}/apps/shop/node_modules/installed/index.js:1:1)`
  ].join('\n'))
  t.match(linked, { file: join(folder, 'packages/pricing/index.js'), own: true })
  t.match(installed, { file: join(folder, 'apps/shop/node_modules/installed/index.js'), own: false })
})

const SOURCE = `// Types of many lines: what compilers write has other lines. These are long enough for each column of what they write.
interface Price {
  amount: number // of the smallest unit, such as cents
  currency: string // of ISO 4217, such as EUR
  until: string // a date of RFC 3339, such as 2026-01-31
  from: string // a date of RFC 3339, such as 2026-01-01
}

function find (name: string): Price {
  throw new Error(\`No price of \${name}\`)
}

exports.price = async function price (): Promise<Price> {
  return find('shoes')
}
`
/** Writes a compiled file; `mapFor` returns what its comment has, for the source map. */
function compile (name: string, source: string, mapFor: (map: object) => string): string {
  const file = join(folder, name, 'dist/app.cjs')
  mkdirSync(join(file, '..'), { recursive: true })
  const { code, map } = transformSync(SOURCE, { loader: 'ts', format: 'cjs', sourcemap: true, sourcesContent: false })
  const comment = mapFor({ ...JSON.parse(map) as object, sources: [source] })
  writeFileSync(file, `${code}//# source${'MappingURL'}=${comment}\n`)
  return file
}

const dataOf = (map: object): string => `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`
function fileOf (name: string): (map: object) => string {
  return (map) => {
    mkdirSync(join(folder, name, 'dist'), { recursive: true })
    writeFileSync(join(folder, name, 'dist/app.cjs.map'), JSON.stringify(map))
    return 'app.cjs.map'
  }
}

t.test('a place in a build that does not run with source maps is that of its source', (t) => {
  for (const [name, source, mapFor] of [
    ['linked', '../src/price.ts', fileOf('linked')], ['inline', '../src/price.ts', dataOf],
    ['rooted', 'price.ts', (map) => fileOf('rooted')({ ...map, sourceRoot: '../src' })],
    ['root', 'price.ts', (map) => dataOf({ ...map, sourceRoot: '../src/' })]
  ] as Array<[string, string, (map: object) => string]>) {
    const file = compile(name, source, mapFor)
    const lines = readFileSync(file, 'utf8').split('\n')
    const line = lines.findIndex((text) => text.includes('throw new'))
    const frame = stackFrames(`    at find (${file}:${line + 1}:${(lines[line] ?? '').indexOf('throw') + 1})`)[0]
    t.match(frame, { file: join(folder, name, 'src/price.ts'), line: 10, column: 3, own: true }, name)
  }
  t.end()
})

inBothProducts('a source that a bundler has named is one of the application, with the name and line that a stack gives', async (t, build, product) => {
  process.setSourceMapsEnabled(true)
  const file = compile(`webpack-${product}`, 'webpack://shop/./src/price.ts', dataOf)
  const { price } = createRequire(file)(file) as { price: () => Promise<unknown> }
  const app = await build((app) => { app.get('/', price) })
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const { exceptions } = (await app.inject(`/_profiler/${page.headers['x-debug-token']}.json`)).json<Profile>()
  const frames = exceptions[0]?.frames.filter((frame) => frame.own).slice(0, 2)
  t.same(frames?.map(({ file, line, excerpt }) => [file, line, excerpt]), [10, 14].map((line) => ['webpack://shop/src/price.ts', line, undefined]))
  t.notOk(stackFrames('    at f (webpack://shop/node_modules/pg/index.js:1:1)')[0]?.own, 'a package in a bundle')
})

t.test('a source map that cannot be read changes no place', (t) => {
  for (const [name, comment] of [['absent', 'absent.map'], ['broken', 'data:application/json;base64,e30='], ['no-url', 'http://[']] as const) {
    const file = compile(name, 'price.ts', () => comment)
    t.match(stackFrames(`    at price (${file}:3:4)`), [{ file, line: 3, column: 4, own: true }], name)
  }
  t.end()
})
