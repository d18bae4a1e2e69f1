import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { takePort } from './ports.js'

type Environment = Record<string, string | undefined>

const DEBIAN = '/usr/sbin/nginx'
const MISSING = 'no nginx: install it (on Debian: apt-get install nginx), or put its path into NGINX'
const TIMEOUT = 30_000

/** The path of the program that `nginx` starts; undefined where this machine has none. */
export function findNginx (env: Environment = process.env): string | undefined {
  // A configured path that is wrong must not be replaced silently by another program.
  if (env.NGINX) return existsSync(env.NGINX) ? env.NGINX : undefined
  const places = (env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nginx'))
  return [DEBIAN, ...places].find((place) => existsSync(place))
}

/**
 * Starts nginx with one server for each text, which is the content of its `server` block without `listen`; returns
 * their ports on 127.0.0.1. It is stopped when the test ends. Where there is no nginx, it fails in CI; elsewhere the
 * test is marked as skipped, with what to install, and null is returned:
 * `const ports = await nginx(t, servers); if (!ports) return`.
 */
export async function nginx (t: Test, servers: string[], env: Environment = process.env): Promise<number[] | null> {
  const program = findNginx(env)
  if (program === undefined) {
    if (env.CI) throw new Error(MISSING)
    t.pass('nginx is installed', { skip: MISSING })
    return null
  }
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-nginx-'))
  const ports = await Promise.all(servers.map(() => takePort()))
  writeFileSync(join(folder, 'nginx.conf'), configuration(servers, ports))
  const child = spawn(program, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => { log += chunk })
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  for (const until = Date.now() + TIMEOUT; Date.now() < until && child.exitCode === null; await sleep(20)) {
    if ((await Promise.all(ports.map(accepts))).every(Boolean)) return ports
  }
  throw new Error(`nginx does not start:\n${log}`)
}

function configuration (servers: string[], ports: number[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`)
  const blocks = servers.map((server, i) => `server { listen 127.0.0.1:${ports[i]}; ${server} }`)
  return `
    daemon off;
    master_process off;
    pid nginx.pid;
    error_log stderr;
    events {}
    http {
      access_log off;
      ${temporary.join('\n      ')}
      ${blocks.join('\n      ')}
    }
  `
}

async function accepts (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
