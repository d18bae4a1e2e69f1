import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import fastifyStatic from '@fastify/static'
import Fastify from 'fastify'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { chromium, CLOSING } from '../../../packages/hindsight/test/slow/support/browser.js'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'

const ROOT = join(import.meta.dirname, '../../..')

t.test('the site is built, and each of its links leads to a page or a file of it', async (t) => {
  const folder = testdir(t)
  await promisify(execFile)(process.execPath, [join(ROOT, 'docs/node_modules/vitepress/bin/vitepress.js'), 'build', 'docs', '--outDir', folder], { cwd: ROOT })
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'))
  t.ok(pages.includes('architecture.html') && pages.length >= 40, `${pages.length} pages`)
  const dead = pages.flatMap((page) => {
    const links = [...new JSDOM(readFileSync(join(folder, page))).window.document.querySelectorAll('main a[href]')]
    const paths = links.map((link) => decodeURI((link.getAttribute('href') ?? '').replace(/[?#].*$/, '')))
    const own = paths.filter((path) => path !== '' && !/^[a-z]+:/.test(path))
    const target = (path: string): string => path.startsWith('/') ? join(folder, path) : resolve(folder, dirname(page), path)
    return own.filter((path) => ![target(path), `${target(path)}.html`].some((file) => existsSync(file))).map((path) => `${page}: ${path}`)
  })
  t.same([...new Set(dead)], [])

  const { document } = new JSDOM(readFileSync(join(folder, 'index.html'))).window
  const linksOf = (place: string): string[] => [...document.querySelectorAll(`${place} a[href]`)].map((link) => link.getAttribute('href') ?? '')
  const order = (place: string): string[] => linksOf(place).flatMap((link) => /[\w-]+\/[\w-]+(?=\.html$)/.exec(link) ?? [])
  const explanation = document.querySelector('main .vp-doc p')?.textContent
  t.match(explanation, /^Hindsight explains every request of a Fastify application\. Each request leaves a profile /)
  t.same(order('.VPSidebar'), order('main .vp-doc ul'), 'in the order of the first page')
  const subjects = [...document.querySelectorAll('.VPSidebar h3')].map((title) => title.textContent)
  t.same(subjects, ['Start', 'Run', 'Examine requests', 'Extend', 'Check in CI', 'The service'])

  const browser = await chromium(t)
  if (browser === undefined) return
  const server = Fastify(CLOSING).register(fastifyStatic, { root: folder })
  t.teardown(() => server.close())
  const origin = await server.listen({ port: 0 })
  // The pages are rendered by the build.
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, javaScriptEnabled: false })
  for (const path of pages) {
    await page.goto(`${origin}/${path}`)
    t.same(await page.evaluate(() => [...document.querySelectorAll('table')].filter((table) => table.scrollWidth > table.clientWidth).map((table) =>
      table.textContent?.slice(0, 50))), [], `${path}: no table is cut`)
  }
})
