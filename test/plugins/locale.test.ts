import { Readable } from 'node:stream'
import { setImmediate as tick, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { build, listen, profileOf, raw, type BuildOptions } from '../../packages/hindsight/test/support/app.js'

interface Words { hello: string }

declare module 'fastify' {
  interface LocaleAwareServices {
    words: Words
    numbers: Intl.NumberFormat
  }
}

const LOCALES = ['en', 'fr', 'de', 'pt-BR', 'zh-Hant']
const options: BuildOptions = { enabledLocales: LOCALES, acceptLanguage: true }
const said = (locale: string): Words => ({ hello: `hello in ${locale}` })

async function start (t: Test, given: BuildOptions = options): Promise<FastifyInstance> {
  const app = await build({
    ...given,
    declare (app) {
      app.get('/locale', async (request) => request.locale)
      app.get('/:_locale/hello', async (request) => request.locale)
      app.get('/own', async (request, reply) => reply.header('content-language', 'la').header('vary', 'Cookie').send(request.locale))
      app.get('/away', async (_request, reply) => reply.redirect('/locale'))
      app.get('/empty', async (_request, reply) => reply.code(204).send())
      app.get('/same', async (_request, reply) => reply.code(304).send())
      app.get('/fail', async () => { throw new Error('no') })
      return given.declare?.(app)
    }
  })
  t.teardown(() => app.close())
  return app
}

async function refusal (given: BuildOptions): Promise<string> {
  try {
    await (await build(given)).close()
    return 'it started'
  } catch (error) {
    return (error as Error).message
  }
}

t.test('the locale is that of the route, of the client or the default, in this order', async t => {
  const app = await start(t)
  for (const [url, accept, locale] of [
    ['/fr/hello', undefined, 'fr'],
    ['/de/hello', 'fr', 'de'],
    ['/pt-BR/hello', 'fr', 'pt-BR'],
    ['/locale', undefined, 'en'],
    ['/locale', 'fr', 'fr'],
    ['/locale', 'FR', 'fr'],
    ['/locale', 'fr-CA,fr;q=0.9', 'fr'],
    ['/locale', 'de;q=0.5, fr;q=0.9', 'fr'],
    ['/locale', 'fr;q=0.5, de;q=0.5', 'fr'],
    ['/locale', 'fr-CA, en;q=0.9', 'fr'],
    ['/locale', 'it, de;q=0.1', 'de'],
    ['/locale', 'it', 'en'],
    ['/locale', 'zh', 'zh-Hant'],
    ['/locale', 'pt', 'pt-BR'],
    ['/locale', '*', 'en'],
    ['/locale', 'it, *', 'en'],
    ['/locale', 'en;q=0, *', 'fr'],
    ['/locale', 'fr;q=0, fr-CA', 'en'],
    ['/locale', 'fr;q=0', 'en'],
    ['/locale', '', 'en'],
    ['/locale', ';;,,"\\', 'en'],
    ['/locale', `${'x-'.repeat(400)}, fr`, 'en'],
    ['/locale?_locale=fr', undefined, 'en']
  ] as const) {
    const response = await app.inject({ url, headers: accept === undefined ? {} : { 'accept-language': accept } })
    t.same([response.statusCode, response.body, response.headers['content-language']], [200, locale, locale], `${url} ${accept}`)
    t.equal(response.headers.vary, url.includes('hello') ? undefined : 'Accept-Language', `${url} ${accept}: Vary where the header was read`)
  }
})

t.test('an unknown locale in the path is a 404 of the router', async t => {
  const app = await start(t)
  for (const url of ['/xx/hello', '/FR/hello', '/pt/hello', '/en_US/hello', '/constructor/hello']) {
    const response = await app.inject({ url, headers: { accept: 'application/json' } })
    t.equal(response.statusCode, 404, url)
    t.same(response.json<{ exceptions: Array<{ message: string }> }>().exceptions.map(({ message }) => message), [
      `No routes found for "${url}/"`, `No route found for "GET http://localhost${url}"`
    ])
    const { events, logs } = await profileOf(app, response)
    t.match(events.find(({ listener, stage }) => listener === 'locale' && stage === 'kernel.request'), { outcome: 'raised' })
    t.ok(logs.some(({ message }) => message === `"${url.split('/')[1]}" is none of the enabled locales (en, fr, de, pt-BR, zh-Hant).`))
  }
})

t.test('without a list of locales a route accepts any language tag', async t => {
  const app = await start(t, {})
  t.equal((await app.inject('/gsw-CH/hello')).headers['content-language'], 'gsw-CH')
  t.equal((await app.inject('/a b/hello'.replace(' ', '%20'))).statusCode, 404)
  const { headers } = await app.inject({ url: '/locale', headers: { 'accept-language': 'fr' } })
  t.same([headers['content-language'], headers.vary], [undefined, undefined])
})

t.test('headers of the route are kept, and only responses with content have a language', async t => {
  const app = await start(t)
  const own = await app.inject({ url: '/own', headers: { 'accept-language': 'fr' } })
  t.same([own.body, own.headers['content-language'], own.headers.vary], ['fr', 'la', 'Cookie, Accept-Language'])
  for (const url of ['/away', '/empty', '/same', '/fail', '/nowhere', '/_profiler/']) {
    const { headers } = await app.inject({ url, headers: { 'accept-language': 'fr' } })
    t.equal(headers['content-language'], undefined, url)
  }
  t.equal((await app.inject('/_profiler/')).headers.vary, 'accept', 'the debug surface is not translated')
})

t.test('the profile has the source of the locale', async t => {
  const app = await start(t)
  for (const [url, header, source, locale, outcome] of [
    ['/fr/hello', 'de', 'route', 'fr', { outcome: 'ran' }],
    ['/locale', 'de', 'accept-language', 'de', { outcome: 'ran' }],
    ['/locale', 'it', 'default', 'en', { outcome: 'skipped', reason: 'the request names no language that is enabled' }]
  ] as const) {
    const profile = await profileOf(app, await app.inject({ url, headers: { 'accept-language': header } }))
    t.same(profile.collectors.locale, { locale, source, default: 'en', enabled: LOCALES, acceptLanguage: { enabled: true, header }, services: [] })
    t.match(profile.events.find(({ stage, listener }) => stage === 'kernel.request' && listener === 'locale'), outcome)
    t.match(profile.events.find(({ stage, listener }) => stage === 'kernel.finish_request' && listener === 'locale'),
      locale === 'en' ? { outcome: 'skipped', reason: 'the locale is the default' } : { outcome: 'ran' })
  }
  const plain = await start(t, {})
  t.match(
    (await profileOf(plain, await plain.inject('/locale'))).events.find(({ listener }) => listener === 'locale'),
    { outcome: 'skipped', reason: 'not configured' }
  )
})

t.test('the locale is negotiated over a socket', async t => {
  const port = await listen(await start(t))
  const response = await raw(port, 'GET /locale HTTP/1.1\r\nHost: localhost\r\nAccept-Language: it\r\nAccept-Language: de;q=0.2, fr;q=0.3\r\n\r\n')
  t.same([response?.text, response?.headers['content-language'], response?.headers.vary], ['fr', 'fr', 'Accept-Language'])
})

t.test('invalid options stop the start', async t => {
  for (const [given, message] of [
    [{ enabledLocales: ['en', 'pt_BR'] }, 'Option "enabledLocales[1]" must be a language tag, not another string'],
    [{ acceptLanguage: true }, 'acceptLanguage: enabledLocales must name the locales to choose from'],
    [{ enabledLocales: ['fr'] }, 'enabledLocales: the default locale "en" is none of fr'],
    [{ enabledLocales: ['fr'], defaultLocale: 'de' }, 'enabledLocales: the default locale "de" is none of fr'],
    [{ localeAwareServices: { words: 'x' as never } }, 'Option "localeAwareServices.words" must be a function, not a string'],
    [{ localeAwareServices: { words: (locale: string) => { throw new Error(`no words for ${locale}`) } } }, 'no words for en'],
    [
      { enabledLocales: ['en', 'fr'], localeAwareServices: { words: async (locale: string) => { if (locale === 'fr') throw new Error('no file fr') } } },
      'no file fr'
    ]
  ] as const) t.equal(await refusal(given as BuildOptions), message)
})

t.test('a request has the services of its locale, which are created once per locale', async t => {
  const made: string[] = []
  const app = await start(t, {
    ...options,
    localeAwareServices: {
      words: async (locale) => { made.push(locale); await tick(); return said(locale) },
      numbers: (locale: string) => new Intl.NumberFormat(locale)
    },
    declare (app) {
      app.get('/:_locale/services', async (request) => ({ words: request.services.words.hello, number: request.services.numbers.format(1234.5) }))
      app.get('/chosen', async (request) => { request.locale = 'de'; return request.services.words })
    }
  })
  t.same(made, LOCALES, 'at start')
  t.same((await app.inject('/de/services')).json(), { words: 'hello in de', number: '1.234,5' })
  t.same((await app.inject('/en/services')).json(), { words: 'hello in en', number: '1,234.5' })
  t.same((await app.inject('/chosen')).json(), { hello: 'hello in de' }, 'they follow a locale that the handler sets')
  t.same(made, LOCALES, 'and not again')
})

t.test('without enabled locales, a request has the services of its own', async t => {
  const app = await start(t, {
    localeAwareServices: { words: said },
    declare: (app) => { app.get('/:_locale/services', async (request) => [request.locale, request.services.words.hello]) }
  })
  t.same((await app.inject('/fr/services')).json(), ['fr', 'hello in fr'])
})

t.test('a streamed body keeps its locale to the end; then the locale is reset', async t => {
  let seen: { locale: string } | undefined
  const app = await start(t, {
    ...options,
    localeAwareServices: { words: said },
    declare (app) {
      app.get('/:_locale/stream', (request, reply) => {
        seen = request
        return reply.type('text/plain').send(Readable.from((async function * () {
          yield `${request.locale}:`
          await sleep(20)
          yield request.services.words.hello
        })()))
      })
      app.get('/:_locale/plain', async (request) => { seen = request; return request.services.words.hello })
    }
  })
  const port = await listen(app)
  for (const [path, text] of [['stream', 'fr:hello in fr'], ['plain', 'hello in fr']] as const) {
    t.equal(await (await fetch(`http://127.0.0.1:${port}/fr/${path}`)).text(), text)
    // After the end of the response.
    while (seen?.locale !== 'en') await tick()
    t.equal(seen.locale, 'en', path)
  }
})

t.test('a thousand concurrent requests have separate locales', async t => {
  const app = await start(t, {
    ...options,
    debug: false,
    localeAwareServices: { words: said, numbers: (locale) => new Intl.NumberFormat(locale) },
    declare (app) {
      const handler = async (request: FastifyRequest): Promise<string[]> => {
        const seen: string[] = []
        for (let i = 0; i < 4; i++) {
          seen.push(request.locale, request.services.words.hello.slice(9), request.services.numbers.resolvedOptions().locale)
          await (Math.random() < 0.5 ? tick() : sleep(Math.random() * 5))
        }
        return seen
      }
      app.get('/:_locale/mixed', handler)
      app.get('/mixed', handler)
    }
  })
  const port = await listen(app)
  const wanted = Array.from({ length: 1000 }, (_, i) => LOCALES[(i * 7) % LOCALES.length] as string)
  const one = async (locale: string, i: number): Promise<string[]> => {
    const url = i % 2 === 0 ? `/${locale}/mixed` : '/mixed'
    const headers = { 'accept-language': i % 2 === 0 ? 'de' : locale }
    if (i % 4 < 3) return (await app.inject({ url, headers })).json<string[]>()
    return await (await fetch(`http://127.0.0.1:${port}${url}`, { headers })).json() as string[]
  }
  const answers = await Promise.all(wanted.map(one))
  const mixed = answers.filter((answer, i) => answer.length !== 12 || answer.some((locale) => locale !== wanted[i]))
  t.same(mixed, [])
  t.equal(answers.length, 1000)
})
