import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { link, pack, unpack } from './packed.js'

export const TUTORIAL = 'docs/tutorial/find-a-bug.md'
export const QUERIES_TUTORIAL = 'docs/tutorial/find-an-n-plus-1-query.md'
const ROOT = join(import.meta.dirname, '../../../..')

/** What a reader of the tutorial does, in order, with what the page says that one then sees. */
export interface Step {
  /** The line of the page. */
  line: number
  do: 'save' | 'replace' | 'start' | 'run' | 'open' | 'choose'
  /** The file, the replaced code, the command, the URL, or the text of the link. */
  what: string
  /** The code of a file or of a replacement. */
  code: string
  /** Text that is on the page in the browser. */
  sees: string[]
  /** The whole answer, or the output of the command. */
  shows?: string
}

const PART = /^(?:<!-- *(.*?) *-->\n+)?```(\w*)\n([^]*?)^```$|^- (.*(?:\n {2}.*)*)$|Open\s<(http[^>]+)>|[Cc]hoose\s(?:the token of\s`([^`]+)`|\*([^*]+)\*)/gm

/** What the comment before a piece says that replaces a line of the application. */
const REPLACES = 'replaces: '

/** The steps of a page, with `port` in place of 3000. */
export function stepsOf (port: number, page = TUTORIAL): Step[] {
  // Node.js 20 has no SQLite.
  const sqlite = isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite'
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll('3000', String(port)).replaceAll('node:sqlite', sqlite)
  const steps: Step[] = []
  for (const { 0: all, 1: mark = '', 2: language, 3: code = '', 4: item, 5: url, 6: row, 7: label, index } of text.matchAll(PART)) {
    const line = text.slice(0, index).split('\n').length
    const add = (step: Pick<Step, 'do' | 'what'> & Partial<Step>): void => { steps.push({ line, code: '', sees: [], ...step }) }
    const last = steps.at(-1)
    if (url !== undefined) add({ do: 'open', what: url })
    else if (row !== undefined || label !== undefined) add({ do: 'choose', what: row ?? label ?? '' })
    else if (item !== undefined) {
      last?.sees.push(
        ...[...item.matchAll(/`([^`]+)`|\*([^*]+)\*/g)].map(([, code, words]) => (code ?? words ?? '').replaceAll(/\s+/g, ' ').replace(/:$/, ''))
      )
    } else if (mark.startsWith('file: ')) add({ do: 'save', what: mark.slice(6), code })
    else if (mark.startsWith(REPLACES)) add({ do: 'replace', what: mark.slice(REPLACES.length), code })
    else if (mark === 'start') add({ do: 'start', what: code.trim() })
    else if (language === 'sh') for (const command of code.trim().split('\n')) add({ do: 'run', what: command })
    else if (last !== undefined) last.shows = code
    else throw new Error(`${page}:${line} shows something before the first step: ${all}`)
  }
  return steps
}

/** An empty project in which the package and Fastify are installed. */
export async function project (folder: string): Promise<string> {
  const place = join(folder, 'shop')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), '{ "name": "shop", "version": "1.0.0", "type": "module" }')
  const { filename } = await pack(folder)
  const dependencies = await unpack(join(folder, filename), place)
  // Node.js 20 has no SQLite.
  for (const name of [...dependencies, 'fastify', '@photostructure/sqlite']) link(place, name)
  const command = join(place, 'node_modules/.bin/fastify-hindsight')
  mkdirSync(dirname(command), { recursive: true })
  writeFileSync(command, '#!/usr/bin/env node\nimport(\'../fastify-hindsight/bin/fastify-hindsight.js\')\n', { mode: 0o755 })
  return place
}

/** The environment of a reader: none of the settings of a test run. */
export function environment (): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:NODE_|TAP|TSX_|STORAGE_URL|DATA_DIR|PROFILER)/.test(name)))
}

/** Starts the application of a tutorial, until it listens. */
export async function startShop (place: string): Promise<ChildProcess> {
  const shop = spawn(process.execPath, ['app.js'], { cwd: place, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
  let log = ''
  for await (const chunk of shop.stdout) {
    log += String(chunk)
    if (log.includes('Server listening at')) break
  }
  if (!log.includes('Server listening at')) throw new Error(`It does not start: ${log}`)
  return shop
}
