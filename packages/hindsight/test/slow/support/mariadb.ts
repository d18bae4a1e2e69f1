import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import type { Test } from 'tap'
import { freePort } from '../../support/ports.js'
import { findProgram, missing, serverFolder, startServer } from '../../support/server-process.js'

export interface MariaServer { port: number, host: string, user: string, password: string, database: string }

/**
 * Starts a MariaDB server with a database `hindsight`, which is stopped after the test; null, and the test is skipped,
 * where there is none.
 */
export async function mariaServer (t: Test): Promise<MariaServer | null> {
  const [program, install] = [findProgram('mariadbd', ['/usr/sbin']), findProgram('mariadb-install-db')]
  if (program === null || install === null) {
    return missing(t, 'MariaDB', 'no MariaDB: install it (on Debian: apt-get install mariadb-server)')
  }
  const folder = serverFolder(t, 'mariadb')
  const data = join(folder, 'data')
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  const options = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve']
  execFileSync(install, ['--no-defaults', `--datadir=${data}`, ...options, ...user], { stdio: 'pipe' })
  const server = { port: await freePort(), host: '127.0.0.1', user: 'root', password: '' }
  await startServer(t, program, [
    '--no-defaults', `--datadir=${data}`, `--port=${server.port}`, '--bind-address=127.0.0.1', `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`, '--innodb-buffer-pool-size=16M', '--innodb-flush-log-at-trx-commit=0', ...user
  ], {
    folder,
    isReady: async () => {
      const connection = await mysql.createConnection(server)
      await connection.query('create database if not exists hindsight')
      await connection.end()
    }
  })
  return { ...server, database: 'hindsight' }
}
