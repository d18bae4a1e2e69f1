import { exec, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { freePort } from '../../../packages/hindsight/test/support/ports.js'
import { environment, project, QUERIES_TUTORIAL, startShop, stepsOf, TUTORIAL, type Step } from '../../../packages/hindsight/test/support/tutorial.js'

// It follows docs/tutorial/find-a-bug.md and docs/tutorial/find-an-n-plus-1-query.md in an empty folder with the packed
// package: files, commands and URLs, in order.

const folder = mkdtempSync(join(tmpdir(), 'hindsight-tutorial-'))
const port = await freePort()
const place = await project(folder)
let shop: ChildProcess | undefined
let current: JSDOM | undefined
/** The tokens of the page, with those that they stand for. */
const tokens = new Map<string, string>()

t.teardown(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

async function stop (): Promise<void> {
  if (shop === undefined) return
  const ended = once(shop, 'exit')
  shop.kill('SIGINT')
  await ended
  shop = undefined
}

/** What a browser shows of a page, with the parts that its script loads. */
async function textOf (dom: JSDOM): Promise<string> {
  const { document, location } = dom.window
  for (const { dataset } of document.querySelectorAll<HTMLElement>('[data-fragment]')) {
    const fragment = await open(new URL(dataset.fragment ?? '', location.href).href)
    document.body.append(...fragment.window.document.body.childNodes)
  }
  for (const element of document.querySelectorAll('script, style')) element.remove()
  return (document.body.textContent ?? '').replaceAll(/\s+/g, ' ')
}

async function open (url: string): Promise<JSDOM> {
  const response = await fetch(url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
  return new JSDOM(await response.text(), { url: response.url })
}

/** The link with this text; or, of a row that has this text, the link of its token. */
function linkOf (dom: JSDOM, text: string): string {
  const { document } = dom.window
  const links = [...document.querySelectorAll('a')]
  const row = [...document.querySelectorAll('tr')].find((row) => row.textContent?.includes(text))
  // A link of the menu has the number of problems after its label.
  const link = links.find((link) => link.textContent?.trim() === text || link.querySelector('span')?.textContent === text) ??
    [...row?.querySelectorAll('a') ?? []].find(({ textContent }) => /^[0-9a-f]{6}$/.test(textContent?.trim() ?? ''))
  if (link === undefined) throw new Error(`There is no link for ${text} at ${document.location.href}`)
  return link.href
}

/** Sends the form of the first button with this text; null where there is none. */
async function submit (dom: JSDOM, text: string): Promise<JSDOM | null> {
  const { document, location } = dom.window
  const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent?.trim() === text)
  if (!button?.form) return null
  const fields = [...button.form.querySelectorAll<HTMLInputElement>('input'), button].map(({ name, value }): [string, string] => [name, value])
  const url = new URL(button.form.action, location.href).href
  const response = await fetch(url, { method: 'POST', headers: { accept: 'text/html' }, body: new URLSearchParams(fields) })
  return new JSDOM(await response.text(), { url: response.url })
}

/** A busy machine blocks a request: its line has a mark then, and another line follows. */
const BLOCKED = '(?:\\n +Timeline: blocked for [^\\n]*)?'

/** Matches the output that the page shows: with any tokens, times, durations and spaces, and with any lines for `…`. */
function patternOf (shown: string): RegExp {
  const lines = shown.trimEnd().split('\n').map((line) => {
    if (line === '…') return '[^]*?'
    const parts = line.split(/(\d\d-\d\d \d\d:\d\d:\d\d|[\d.]+ (?:ms|µs|s)\b|\b[0-9a-f]{6}\b| +)/)
    return parts.map((part, i) => {
      if (i % 2 === 0) return part.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
      if (/^ +$/.test(part)) return i === 1 && parts[0] === '' ? '[▲ ] *' : ' +'
      if (/ (?:ms|µs|s)$/.test(part)) return '[\\d.,]+ (?:ms|µs|s)'
      if (part.includes(':')) return '\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d'
      return tokens.get(part) ?? `(?<t${part}>[0-9a-f]{6})`
    }).join('')
  })
  const once = new Set<string>()
  return new RegExp(
    lines.join(`${BLOCKED}\\n`).replaceAll(/\(\?<(\w+)>\[0-9a-f\]\{6\}\)/g, (group, name: string) => once.has(name) ? `\\k<${name}>` : (once.add(name), group))
  )
}

/** Runs a command of the page; what it prints. */
async function printed (command: string): Promise<string> {
  const known = [...tokens].reduce((text, [shown, real]) => text.replaceAll(shown, real), command)
  // The page is written for port 3000 and for a terminal.
  const line = known.replace(/^npx /, 'node_modules/.bin/').replace('--test ', '--test --test-reporter=spec ').replace(
    / replay .*$/, `$& --url http://127.0.0.1:${port}`
  )
  return await new Promise((resolve) => { exec(line, { cwd: place, env: environment() }, (_error, stdout, stderr) => resolve(stdout + stderr)) })
}

async function follow (step: Step): Promise<string> {
  const file = join(place, 'app.js')
  switch (step.do) {
    case 'save':
      writeFileSync(join(place, step.what), step.code)
      return ''
    case 'replace': {
      const before = readFileSync(file, 'utf8')
      writeFileSync(file, before.replace(step.what, () => step.code.trim()))
      await stop()
      shop = await startShop(place)
      return before.includes(step.what) ? '' : `${step.what} is not in app.js`
    }
    case 'start':
      shop = await startShop(place)
      return ''
    case 'run': return await printed(step.what)
    default:
      if (step.do === 'open' || current === undefined) current = await open(step.what)
      else current = await submit(current, step.what) ?? await open(linkOf(current, step.what))
      // A browser also requests the icon of the site.
      await fetch(`http://127.0.0.1:${port}/favicon.ico`)
      return await textOf(current)
  }
}

const PAGES = [TUTORIAL, QUERIES_TUTORIAL].map((page) => {
  const isNpm = ({ what }: Step): boolean => what.startsWith('npm ')
  return { page, preparation: stepsOf(port, page).filter(isNpm), steps: stepsOf(port, page).filter((step) => !isNpm(step)) }
})
const [first, second] = PAGES as [typeof PAGES[number], typeof PAGES[number]]

t.test(`${TUTORIAL}: npm makes and installs the package`, { skip: await canInstall() ? false : 'the registry of npm does not respond' }, async (t) => {
  const [ci, pack, ...commands] = first.preparation.map(({ what }) => what)
  t.same([ci, pack], ['npm ci', 'npm pack -w fastify-hindsight'], '`project` has run them')
  t.same(second.preparation.map(({ what }) => what), commands)
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  const archive = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? ''
  copyFileSync(join(folder, archive), join(empty, archive))
  for (const command of commands) await promisify(exec)(command, { cwd: empty, env: environment() })
  const manifest = JSON.parse(readFileSync(join(empty, 'package.json'), 'utf8')) as object
  t.match(manifest, { type: 'module', dependencies: { fastify: String, 'fastify-hindsight': `file:${archive}` } })
  const { stdout } = await promisify(exec)('npx fastify-hindsight --help', { cwd: empty, env: environment() })
  t.match(stdout, /Usage: fastify-hindsight/)
})

/** Whether npm can install packages; on the machine of CI it must. */
async function canInstall (): Promise<boolean> {
  return process.env.CI !== undefined || await promisify(exec)('npm ping').then(() => true, () => false)
}

t.equal(first.steps.filter(({ do: verb }) => verb === 'open').length, 4)
t.equal(second.steps.filter(({ do: verb }) => verb === 'open').length, 3)
t.ok(first.steps.filter(({ do: verb }) => verb === 'run').length >= 6)
t.ok(second.steps.filter(({ do: verb }) => verb === 'run').length >= 3)

for (const { page, steps } of PAGES) {
  t.test(`${page}: it starts without an application`, async () => {
    await stop()
    tokens.clear()
  })
  for (const step of steps) {
    t.test(`${page}:${step.line}: ${step.do} ${step.what}`, async (t) => {
      const result = await follow(step)
      if (step.do === 'replace') t.equal(result, '')
      for (const text of step.sees) t.ok(result.includes(text), text, { result })
      // The address of the profiler is printed on a terminal only.
      if (step.shows === undefined || step.do === 'start') return
      if (step.do === 'open') t.equal(result.trim(), step.shows.trim())
      const found = patternOf(step.shows).exec(result)
      t.ok(found, step.shows, { result, pattern: String(patternOf(step.shows)) })
      for (const [name, token] of Object.entries(found?.groups ?? {})) tokens.set(name.slice(1), token)
    })
  }
}
