import { execFileSync } from 'node:child_process'
import fs, { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import {
  config as configPanel, dependenciesOf, revisionOf
} from '../../../src/parts/config/index.js'
import { packageVersion } from '../../../src/require.js'
import { markup } from '../support.js'
import { profileOf } from '../../support/app.js'
import { testdir } from '../../support/folder.js'
import { inBothProducts } from '../../support/products.js'

t.test('the version is that of this package', async t => {
  t.match(packageVersion(), /^\d+\.\d+\.\d+/)
})

inBothProducts('a profile has versions and an id of the configuration', async (t, build, product) => {
  const secret = 's3cret-of-the-session-0123456789'
  const options = product === 'service' ? { session: { secret, cookieName: 'mine' }, trustedHosts: [/local/] } : { mask: [/local/, secret] }
  const app = await build(app => app.get('/', () => 'x'), options)
  const profile = await profileOf(app, await app.inject('/'))
  const config = profile.collectors.config as Record<string, string>
  t.same(Object.keys(config), ['id', 'node', 'fastify', 'hindsight', 'mode', 'machine', 'revision', 'dependencies'].filter(
    (name) => name !== 'revision' || config.revision !== undefined
  ))
  t.ok(JSON.stringify(config).length < 1_500)
  t.match(config.dependencies, /(?:^| )pino@\d/)
  const shown = markup(configPanel, profile)
  t.match(shown, new RegExp(`Fastify</th><td>${app.version}<`))
  t.match(shown, /<h3>Dependencies<\/h3>.*pino<\/th><td>\d/)
  t.match(markup(configPanel, { ...profile, collectors: { config: { ...config, mode: '' } } }), /NODE_ENV<\/th><td>not set</)
  t.notMatch(JSON.stringify(profile) + shown, /s3cret/)
  const other = await build(app => app.get('/', () => 'x'), product === 'service' ? { ...options, defaultLocale: 'fr' } : { mask: [/other/] })
  t.not(((await profileOf(other, await other.inject('/'))).collectors.config as Record<string, string>).id, config.id)
  const twin = await build(app => app.get('/', () => 'x'), options)
  t.equal(((await profileOf(twin, await twin.inject('/'))).collectors.config as Record<string, string>).id, config.id)
})

const HASH = '0123456789abcdef0123456789abcdef01234567'
const OTHER = 'f'.repeat(40)

t.test('the revision is the last one in the log of HEAD', async (t) => {
  const log = `${OTHER} ${OTHER} a <a@b.c> 1 +0000\tcommit: one\n${OTHER} ${HASH} a <a@b.c> 2 +0000\tcheckout: two\n`
  const folder = testdir(t, {
    main: { '.git': { logs: { HEAD: log }, worktrees: { tree: { logs: { HEAD: log } } } }, src: { deep: {} } },
    tree: { '.git': 'gitdir: ../main/.git/worktrees/tree\n' },
    unborn: { '.git': { HEAD: 'ref: refs/heads/main\n' } },
    damaged: { '.git': { logs: { HEAD: `${OTHER} x\n` } } },
    empty: { '.git': {} }
  })
  for (const name of ['main', 'main/src/deep', 'tree']) t.equal(revisionOf(join(folder, name)), HASH.slice(0, 12), name)
  for (const name of ['unborn', 'damaged', 'empty']) t.equal(revisionOf(join(folder, name)), undefined, name)
  t.equal(revisionOf('/'), undefined, 'without git')
})

t.test('the revision is the output of git rev-parse', async (t) => {
  const folder = testdir(t, { file: 'x' })
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim()
  try {
    git('init')
  } catch {
    t.comment('git is not installed')
    return
  }
  git('commit', '--allow-empty', '-m', 'one')
  t.equal(revisionOf(folder), git('rev-parse', 'HEAD').slice(0, 12))
  git('pack-refs', '--all')
  t.equal(revisionOf(folder), git('rev-parse', 'HEAD').slice(0, 12))
  git('worktree', 'add', 'tree')
  writeFileSync(join(folder, 'file'), 'y')
  t.equal(revisionOf(join(folder, 'tree')), git('rev-parse', 'HEAD').slice(0, 12))
})

t.test('the installed versions of direct dependencies are listed', async (t) => {
  const installed = (version: string): { 'package.json': string } => ({ 'package.json': JSON.stringify({ version }) })
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`p${i}`, '1']))
  const folder = testdir(t, {
    node_modules: { hoisted: installed('3.0.0'), '@scope': { part: installed('1.2.3-rc.1') } },
    app: {
      'package.json': JSON.stringify({ dependencies: { one: '^1', hoisted: '*', missing: '1', '@scope/part': '1' }, devDependencies: { dev: '1' } }),
      node_modules: { one: installed('1.0.1'), dev: installed('1.0.0') },
      src: {}
    },
    many: {
      'package.json': JSON.stringify({ dependencies: many }),
      node_modules: Object.fromEntries(Object.keys(many).map((name) => [name, { 'package.json': '{ "version": "1.0.0" }' }]))
    },
    broken: { 'package.json': '{' },
    list: { 'package.json': '{ "dependencies": [1] }' },
    nothing: { 'package.json': 'null' }
  })
  t.same(dependenciesOf(join(folder, 'app/src')), ['@scope/part@1.2.3-rc.1', 'hoisted@3.0.0', 'one@1.0.1'])
  t.equal(dependenciesOf(join(folder, 'many')).length, 50)
  for (const name of ['broken', 'list', 'nothing']) t.same(dependenciesOf(join(folder, name)), [], name)
})

inBothProducts('the applications of a process have the versions that it has loaded, read once', async (t, build) => {
  const root = process.cwd()
  const manifest = 'node_modules/one/package.json'
  const folder = testdir(t, {
    'package.json': '{ "dependencies": { "one": "*" } }', node_modules: { one: { 'package.json': '{ "version": "1.0.0" }' } }
  })
  const dependencies = async (): Promise<unknown> => {
    const app = await build((app) => app.get('/', () => 'x'))
    return ((await profileOf(app, await app.inject('/'))).collectors.config as Record<string, unknown>).dependencies
  }
  process.chdir(folder)
  t.teardown(() => process.chdir(root))
  t.equal(await dependencies(), 'one@1.0.0')
  fs.writeFileSync(join(folder, manifest), '{ "version": "2.0.0" }')
  t.equal(await dependencies(), 'one@1.0.0')
  process.chdir(root)
  t.match(await dependencies(), /(?:^| )pino@\d/)
})

inBothProducts('requests are profiled where files may not be looked up', async (t, build) => {
  const { existsSync } = fs
  const root = process.cwd()
  const restore = (): void => {
    process.chdir(root)
    fs.existsSync = existsSync
    syncBuiltinESMExports()
  }
  t.teardown(restore)
  // The versions of this folder are known already.
  process.chdir(testdir(t, {}))
  // As with `--permission` in Node.js 20 and 22.
  fs.existsSync = () => { throw Object.assign(new Error('Access to this API has been restricted'), { code: 'ERR_ACCESS_DENIED' }) }
  syncBuiltinESMExports()
  const app = await build((app) => app.get('/', () => 'x'))
  const { collectors } = await profileOf(app, await app.inject('/'))
  t.same(Object.keys(collectors.config as object), ['id', 'node', 'fastify', 'hindsight', 'mode', 'machine'])
})
