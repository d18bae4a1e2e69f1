import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyPluginAsync } from 'fastify'
import t from 'tap'
import { functionPlace } from '../../../lib/errors/declared-place.js'
import { stackFrames } from '../../../lib/errors/stack-frame.js'
import type { Profile } from '../../../lib/store/profile.js'
import { inBothModes } from '../../support/modes.js'

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

inBothModes('the code of a workspace is the application\'s, wherever the process was started', async (t, build) => {
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
  t.ok(page.body.includes(`The handler of GET / (${join(folder, 'apps/shop/routes.js')}:4) threw`))
  t.match((await app.inject(`${profile}.md`)).body, `\`${pricing}:2\`\n\n\`\`\`js\n  1 | exports.price = function price () {\n> 2 |   throw new Error`)
})

t.test('a file that is reached by a link of a workspace is not part of a package', async (t) => {
  const [linked, installed] = stackFrames([
    `    at price (${folder}/node_modules/pricing/index.js:2:9)`, `    at installed (${folder}/apps/shop/node_modules/installed/index.js:1:1)`
  ].join('\n'))
  t.match(linked, { file: join(folder, 'packages/pricing/index.js'), own: true })
  t.match(installed, { file: join(folder, 'apps/shop/node_modules/installed/index.js'), own: false })
})

t.test('a function of compiled code has no place if no source map leads to its line', async (t) => {
  const file = join(folder, 'compiled.mjs')
  writeFileSync(file, '\n\nexport function compiled () {}\n')
  const { compiled } = await import(pathToFileURL(file).href) as { compiled: () => void }
  // As a loader does that removes lines.
  writeFileSync(file, 'const added = 1\n\n\n\nexport function compiled () {}\n')
  t.equal(functionPlace(compiled), null)
})
