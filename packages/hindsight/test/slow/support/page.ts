import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

const axeSource = readFileSync(join(import.meta.dirname, '../../packages/node_modules/axe-core/axe.min.js'), 'utf8')

/** A page that notes what must not happen. */
export interface WatchedPage {
  page: Page
  /** Dialogs, errors of scripts, refusals by a policy, and requests to anywhere else. */
  heard: string[]
}

/** Makes a page whose requests may go to one origin, or to one address, only. */
export async function watchedPage (browser: Browser, base: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const page = await browser.newPage(options)
  const heard: string[] = []
  page.on('dialog', (dialog) => {
    heard.push(`dialog ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  page.on('pageerror', (error) => heard.push(`error ${error.message}`))
  page.on('console', (message) => { if (/Content Security Policy|Refused|unsafe/i.test(message.text())) heard.push(message.text()) })
  page.on('request', (request) => {
    if (request.url() !== base && !request.url().startsWith(`${base}/`) && !request.url().startsWith('data:')) {
      heard.push(`request ${request.url()}`)
    }
  })
  return { page, heard }
}

/** What axe finds on a page, shadow roots included: the rule and the first element. */
export async function axeViolations (page: Page): Promise<string[]> {
  return await page.evaluate(`${axeSource}\n${run('')}`)
}

/** The same in the light and then in the dark theme of the system: there only what depends on colours is looked at again. */
export async function axeViolationsOfThemes (page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await axeViolations(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark: string[] = await page.evaluate(run(", { runOnly: ['color-contrast'] }"))
  return [...light, ...dark.map((one) => `dark: ${one}`)]
}

function run (options: string): string {
  return `axe.run(document${options}).then((result) => result.violations.map((one) => one.id + ' ' + one.nodes[0].html))`
}

/** By how many pixels a page is wider than its window. */
export async function overflow (page: Page): Promise<number> {
  return await page.evaluate('Math.max(0, document.documentElement.scrollWidth - innerWidth)')
}

/**
 * Lists the layout shifts that no input has caused, with the text of what has moved. A busy machine shows a page before
 * all of it has arrived, and moves what is beside that. A page may set `shiftsFrom`, the time before which none is listed.
 */
export const OBSERVE_SHIFTS = `window.shifts = []
window.shiftsFrom = 0
new PerformanceObserver((list) => {
  const { domInteractive } = performance.getEntriesByType('navigation')[0]
  for (const { hadRecentInput, value, sources, startTime } of list.getEntries()) {
    if (domInteractive === 0 || startTime < Math.max(domInteractive, window.shiftsFrom)) continue
    const moved = sources.map(({ node, previousRect, currentRect }) => [node?.textContent.slice(0, 80), previousRect, currentRect])
    if (!hadRecentInput) window.shifts.push(JSON.stringify([value, moved]))
  }
}).observe({ type: 'layout-shift', buffered: true })`
