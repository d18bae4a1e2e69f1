import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'

/**
 * The variable with the path of a file that exists until an application of `fastify-hindsight <file>` listens. The file
 * has what the browser opens, relative to the profiler, or nothing.
 */
export const START_FILE = 'HINDSIGHT_START_FILE'

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler']
}

/** Opens an address in the browser, by the command of the platform. No shell reads the address. */
export function openBrowser (url: string): void {
  const [program = '', ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  child.once('error', () => { process.stderr.write(`No browser opens ${url}: there is no command ${program}\n`) })
  child.unref()
}

/** Says that an application listens, once for all processes that the command has started, and opens the browser. */
export function announceStart (path: string, url: string | null): void {
  let wanted: string
  try {
    wanted = readFileSync(path, 'utf8')
    rmSync(path)
  } catch {
    // Another application, or the one before a restart, was first.
    return
  }
  if (wanted !== '' && url !== null) openBrowser(new URL(wanted, url).href)
}
