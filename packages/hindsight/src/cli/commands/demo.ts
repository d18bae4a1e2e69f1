import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { modulePlace } from '../../require.js'
import type { Command } from '../command.js'
import { launchFile, runLaunch, START } from '../start.js'

export const demo: Command = {
  args: '',
  options: {
    open: { ...START.open, type: 'boolean', help: 'open the page in the browser' },
    port: { type: 'string', help: 'default: 3000, or a free one where it is in use' }
  },
  run: async ({ flags }) => {
    const port = portOf(String(flags.port ?? 3000))
    const fastify = fastifyFolder()
    // Code of the application is outside of Hindsight and `node_modules`.
    const cwd = mkdtempSync(join(tmpdir(), 'hindsight-demo-'))
    cpSync(fileURLToPath(new URL('./cli/demo', modulePlace)), cwd, { recursive: true })
    writeFileSync(join(cwd, 'package.json'), '{ "type": "module" }')
    mkdirSync(join(cwd, 'node_modules'))
    symlinkSync(fastify, join(cwd, 'node_modules/fastify'), 'junction')
    const { NODE_ENV: _environment, ...variables } = process.env
    const env = { ...variables, STORAGE_URL: 'memory', PORT: port }
    const { program, args } = launchFile(join(cwd, 'app.js'), [])
    // Node.js 22 warns of its SQLite.
    const quiet = ['--disable-warning=ExperimentalWarning', ...args]
    const { code, signal } = await runLaunch({ program, args: quiet, env, cwd }, flags.open === true ? '/' : '')
    rmSync(cwd, { recursive: true, force: true })
    if (signal !== null) process.kill(process.pid, signal)
    if (code !== 0) throw new Error(`The demo has ended with the exit code ${code}.`)
  }
}

function portOf (text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return text
  throw new Error(`--port must be a number from 0 to 65535, not "${text}".`)
}

/** Where Fastify is: a peer of this package, or a package of the folder in which the command runs. */
function fastifyFolder (): string {
  for (const place of [modulePlace, join(process.cwd(), 'package.json')]) {
    try {
      return dirname(createRequire(place).resolve('fastify/package.json'))
    } catch {
      // It may be in the other place.
    }
  }
  throw new Error('The demo needs Fastify. Install it in this folder: npm install fastify')
}
