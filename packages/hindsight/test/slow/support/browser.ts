import { existsSync } from 'node:fs'
import { chromium as playwright, type Browser } from 'playwright-core'
import type { Test } from 'tap'

type Environment = Record<string, string | undefined>

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const ARGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/**
 * For a server of Fastify that a browser uses: a browser opens connections in advance, and closes them after minutes.
 * For Node.js an unused connection is not idle, so `close` would wait for it.
 */
export const CLOSING = { forceCloseConnections: true } as const

const MISSING = 'no browser: install Chromium (on Debian: apt-get install chromium), or put its path into CHROMIUM'

/** The path of the browser that `chromium` starts; undefined: there is none on this machine. */
export function findChromium (env: Environment = process.env): string | undefined {
  // A path that somebody has named and that is wrong must not be replaced silently by another browser.
  if (env.CHROMIUM) return existsSync(env.CHROMIUM) ? env.CHROMIUM : undefined
  return PLACES.find((place) => existsSync(place))
}

/**
 * A browser for a test, closed when that test ends. Where there is none, CI fails; elsewhere the test is marked as
 * skipped, saying what to install, and undefined is returned: `const browser = await chromium(t); if (!browser) return`.
 */
export async function chromium (t: Test, env: Environment = process.env): Promise<Browser | undefined> {
  const executablePath = findChromium(env)
  if (executablePath === undefined) {
    if (env.CI) throw new Error(MISSING)
    t.pass('a browser is installed', { skip: MISSING })
    return
  }
  // Chromium's sandbox refuses to start for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox', ...ARGS] : ARGS
  const browser = await playwright.launch({ executablePath, args })
  t.teardown(() => browser.close())
  return browser
}
