import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../../../packages/hindsight/test/support/ports.js'
import { startCommand } from '../../../packages/hindsight/test/support/process.js'

const FULL = '/dev/full'

t.test('a full disk of the log loses lines, and the service continues', { skip: existsSync(FULL) ? false : `there is no ${FULL}` }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-log-'))
  const port = await freePort()
  const { args, env } = startCommand()
  const child = spawn(process.execPath, args, {
    cwd: join(import.meta.dirname, '../../..'),
    env: { ...process.env, ...env, PORT: String(port), DATA_DIR: folder },
    stdio: ['ignore', openSync(FULL, 'w'), 'pipe']
  })
  t.teardown(() => { child.kill('SIGKILL'); rmSync(folder, { recursive: true, force: true }) })
  const said = text(child.stderr as NodeJS.ReadableStream)
  const ended = once(child, 'exit')
  const ask = async (): Promise<number> =>
    await fetch(`http://127.0.0.1:${port}/nix`, { signal: AbortSignal.timeout(60_000) }).then(({ status }) => status, () => 0)
  while (await ask() !== 404 && child.exitCode === null) await sleep(100)
  for (let asked = 0; asked < 3; asked++) t.equal(await ask(), 404)
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
  t.equal((await said).match(/The log cannot be written, lines are lost: ENOSPC/g)?.length, 1, 'one warning is printed')
})
