import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { parsedJson, textOfFile } from '../call.js'
import { isObject } from '../view/text.js'

/** An application that listens in debug mode, as a file of the data folder names it for commands. */
export interface RunningServer {
  pid: number
  port: number
  /** The address of the profiler, with a slash at its end. */
  url: string
}

const FILE = /^server-(\d+)-\d+\.json$/

/** Writes the file of an application, where that is possible; returns the function that removes it. */
export function announceServer (dataDir: string, url: string): () => void {
  const { pid } = process
  const { port, protocol } = new URL(url)
  let listened = Number(port)
  if (port === '') listened = protocol === 'https:' ? 443 : 80
  const path = join(dataDir, `server-${pid}-${listened}.json`)
  try {
    mkdirSync(dataDir, { recursive: true })
    // Of processes that were killed.
    const stale = namesIn(dataDir).filter((name) => !isRunning(Number(FILE.exec(name)?.[1])))
    for (const name of stale) rmSync(join(dataDir, name), { force: true })
    writeFileSync(path, JSON.stringify({ pid, port: listened, url } satisfies RunningServer), { mode: 0o600 })
    return () => { rmSync(path, { force: true }) }
  } catch {
    // The folder may be read-only.
    return () => {}
  }
}

/** The applications of a data folder whose processes run. Whether one answers is for the caller to find out. */
export function runningServers (dataDir: string): RunningServer[] {
  if (!existsSync(dataDir)) return []
  return namesIn(dataDir).map((name) => parsedJson(textOfFile(join(dataDir, name)))).filter(isServer)
}

function namesIn (dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => FILE.test(name))
}

function isServer (data: unknown): data is RunningServer {
  if (!isObject(data) || typeof data.url !== 'string' || !URL.canParse(data.url)) return false
  const { protocol, hostname } = new URL(data.url)
  const isAddress = hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return /^https?:$/.test(protocol) && isAddress && isRunning(Number(data.pid))
}

function isRunning (pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process of another user exists, too.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
