import { join } from 'node:path'
import t, { type Test } from 'tap'
import { JSDOM } from 'jsdom'
import type { FastifyInstance } from 'fastify'
import type { AssetSettings } from '../../lib/options.js'
import { testdir } from '../support/folder.js'
import { build, listen, profileOf, type BuildOptions } from '../support/app.js'

// As `vite build` writes it, with a circle of imports.
const MANIFEST = {
  '_shared-B7PI925R.js': { file: 'assets/shared-B7PI925R.js', name: 'shared', css: ['assets/shared-ChJ_j-JJ.css'], imports: ['_base.js'] },
  '_base.js': { file: 'assets/base.js', imports: ['_shared-B7PI925R.js'] },
  'src/late.ts': { file: 'assets/late.js', src: 'src/late.ts', isDynamicEntry: true, imports: ['_shared-B7PI925R.js'], css: ['assets/late.css'] },
  'src/main.ts': {
    file: 'assets/main-BRBmoGS9.js',
    src: 'src/main.ts',
    isEntry: true,
    imports: ['_shared-B7PI925R.js'],
    dynamicImports: ['src/late.ts'],
    css: ['assets/main-5UjPuW-k.css'],
    assets: ['assets/logo.svg']
  },
  'src/admin.ts': { file: 'assets/admin.js', src: 'src/admin.ts', isEntry: true, imports: ['_shared-B7PI925R.js'] },
  'src/print.css': { file: 'assets/print.css', src: 'src/print.css', isEntry: true },
  'src/logo.svg': { file: 'assets/logo ü.svg', src: 'src/logo.svg' },
  'src/text.woff2': { file: 'assets/text.woff2', src: 'src/text.woff2' },
  'src/data.json': { file: 'assets/data.json', src: 'src/data.json' }
}
const FILES = Object.fromEntries([...new Set(Object.values(MANIFEST).flatMap((chunk) => [chunk.file, ...('css' in chunk ? chunk.css : [])]))]
  .map((file) => [file.slice('assets/'.length), `/* ${file} */`]))

function built (t: Test, manifest: unknown = MANIFEST): string {
  const dir = testdir(t, { dist: { '.vite': { 'manifest.json': JSON.stringify(manifest) }, assets: FILES } })
  return join(dir, 'dist/.vite/manifest.json')
}

async function start (t: Test, assets: Partial<AssetSettings> = {}, options: BuildOptions = {}): Promise<FastifyInstance> {
  const app = await build({
    // A test has one directory: what was built last is what lies there.
    assets: { nonce: false, ...assets, manifest: assets.manifest ?? built(t) },
    ...options,
    declare (app) {
      app.get('/', async (request, reply) => {
        const { entry = [] } = request.query as { entry?: string | string[] }
        return reply.type('text/plain').send([entry].flat().map((name) => request.assetTags(name)).join('--\n'))
      })
      app.get('/url', async (request) => request.asset((request.query as { name: string }).name))
      return options.declare?.(app)
    }
  })
  t.teardown(() => app.close())
  return app
}

const tags = async (app: FastifyInstance, url: string): Promise<string[]> => (await app.inject(url)).body.split('\n').filter((line) => line !== '')

const MAIN = [
  '<link rel="stylesheet" href="/build/assets/main-5UjPuW-k.css">',
  '<link rel="stylesheet" href="/build/assets/shared-ChJ_j-JJ.css">',
  '<script type="module" src="/build/assets/main-BRBmoGS9.js"></script>',
  '<link rel="modulepreload" href="/build/assets/shared-B7PI925R.js">',
  '<link rel="modulepreload" href="/build/assets/base.js">'
]

t.test('the tags of an entry are in the order of Vite', async t => {
  const app = await start(t)
  for (const [query, expected] of [
    ['entry=src/main.ts', MAIN],
    ['entry=src/print.css', ['<link rel="stylesheet" href="/build/assets/print.css">']]
  ] as const) t.same(await tags(app, `/?${query}`), expected, query)
  t.equal((await app.inject('/url?name=src/main.ts')).body, '/build/assets/main-BRBmoGS9.js')
})

t.test('each tag occurs once in a response, and again in the next', async t => {
  const app = await start(t)
  const both = [...MAIN, '--', '<script type="module" src="/build/assets/admin.js"></script>']
  t.same(await tags(app, '/?entry=src/main.ts&entry=src/admin.ts'), both)
  t.same(await tags(app, '/?entry=src/main.ts&entry=src/main.ts'), [...MAIN, '--'])
  const port = await listen(app)
  for (let i = 0; i < 2; i++) t.same((await (await fetch(`http://127.0.0.1:${port}/?entry=src/main.ts&entry=src/admin.ts`)).text()).trim().split('\n'), both)
  const answers = await Promise.all(Array.from({ length: 50 }, () => tags(app, '/?entry=src/main.ts')))
  t.same(answers.filter((answer) => answer.length !== MAIN.length), [])
})

t.test('a script that is included is not preloaded', async t => {
  const manifest = built(t, { ...MANIFEST, 'src/admin.ts': { ...MANIFEST['src/admin.ts'], imports: ['src/main.ts'] } })
  const app = await start(t, { manifest })
  t.same(await tags(app, '/?entry=src/main.ts&entry=src/admin.ts'), [...MAIN, '--', '<script type="module" src="/build/assets/admin.js"></script>'])
})

t.test('tags have the integrity metadata of the manifest', async t => {
  const app = await start(t, { manifest: built(t, { ...MANIFEST, 'src/admin.ts': { ...MANIFEST['src/admin.ts'], integrity: 'sha384-own' } }) })
  const document = JSDOM.fragment((await app.inject('/?entry=src/admin.ts')).body)
  t.equal(document.querySelector('script')?.getAttribute('integrity'), 'sha384-own')
  t.equal(document.querySelector('[rel=modulepreload]')?.getAttribute('integrity'), null)
})

t.test('files of another host are requested with CORS', async t => {
  const app = await start(t, { base: 'https://cdn.test/app' })
  t.equal((await tags(app, '/?entry=src/print.css'))[0], '<link rel="stylesheet" href="https://cdn.test/app/assets/print.css" crossorigin="anonymous">')
})

t.test('tags have the nonces of the policy', async t => {
  const app = await start(t, { nonce: true })
  const response = await app.inject('/?entry=src/main.ts')
  const document = JSDOM.fragment(response.body)
  const script = document.querySelector('script')?.getAttribute('nonce')
  const style = document.querySelector('[rel=stylesheet]')?.getAttribute('nonce')
  t.match(String(response.headers['content-security-policy']), `script-src 'self' 'nonce-${script}'`)
  t.match(String(response.headers['content-security-policy']), `style-src 'self' 'nonce-${style}'`)
  t.equal(document.querySelector('[rel=modulepreload]')?.getAttribute('nonce'), script)
  const without = await build(
    { assets: { manifest: built(t) }, contentSecurityPolicy: false, declare: (app) => { app.get('/', async (request) => request.assetTags('src/main.ts')) } }
  )
  t.teardown(() => without.close())
  t.notMatch((await without.inject('/')).body, /nonce/)
})

t.test('names and values are escaped', async t => {
  const app = await start(t, { manifest: built(t, { x: { file: 'a"><script>.js', isEntry: true } }), base: '/"><b>/' })
  const document = JSDOM.fragment((await app.inject('/?entry=x')).body)
  t.equal(document.querySelector('b'), null)
  t.equal(document.querySelector('script')?.getAttribute('src'), '/"><b>/a%22%3E%3Cscript%3E.js')
})

t.test('an entry that the build does not have is an error', async t => {
  const app = await start(t)
  for (const url of ['/?entry=src/nope.ts', '/?entry=constructor', '/url?name=__proto__']) {
    const response = await app.inject({ url, headers: { accept: 'application/json' } })
    t.equal(response.statusCode, 500, url)
    t.match(response.json<{ exceptions: Array<{ message: string }> }>().exceptions.at(-1)?.message,
      /^The asset "(src\/nope\.ts|constructor|__proto__)" is not in the manifest .*manifest\.json, which has _shared-B7PI925R\.js, .*src\/data\.json\.$/)
  }
  const none = await build({ declare: (app) => { app.get('/', async (request) => request.asset('x')) } })
  t.teardown(() => none.close())
  t.match((await none.inject({ url: '/', headers: { accept: 'application/json' } })).json(),
    { exceptions: [{ message: 'There are no assets: set the option assets.manifest to the path of a Vite manifest' }] })
})

t.test('an invalid build stops the start', async t => {
  const dir = testdir(t, { 'no.json': '{', 'odd.json': '{"x":{}}', 'files.json': '{"x":{"file":"x.js"}}' })
  for (const [settings, message] of [
    [{ manifest: 'nope.json' }, /^assets\.manifest: .*nope\.json cannot be read \(ENOENT.*\); build the front end with build\.manifest: true$/],
    [{ manifest: 'no.json' }, /^assets\.manifest: .*no\.json cannot be read \(.*JSON.*\)/],
    [{ manifest: 'odd.json' }, /^assets\.manifest: .*odd\.json cannot be read \("x" has no file\)/],
    [{ manifest: 'files.json', bas: '/' }, /^Unknown option "assets\.bas"; did you mean "base"\?$/],
    [{}, /^Option "assets\.manifest" is missing$/]
  ] as const) {
    const assets = 'manifest' in settings ? { ...settings, manifest: join(dir, settings.manifest) } : settings
    await t.rejects(build({ assets: assets as never }), { message })
  }
})

t.test('the profile has the rendered tags, and the list is reset', async t => {
  let seen: { assets?: unknown } = {}
  const app = await start(
    t, {}, { declare (app) { app.get('/seen', async (request) => { seen = request as never; return request.assetTags('src/print.css') }) } }
  )
  const profile = await profileOf(app, await app.inject('/seen'))
  t.match(profile.collectors.assets, { base: '/build/', rendered: ['stylesheet assets/print.css'] })
  t.equal((seen as { assetTags: (name: string) => string }).assetTags('src/print.css').length > 0, true, 'the same request can render the tags again')
  const unused = await profileOf(app, await app.inject('/url?name=src/main.ts'))
  t.match(unused.events.find(({ listener }) => listener === 'asset-reset'), { outcome: 'skipped', reason: 'the response refers to no asset' })
})
