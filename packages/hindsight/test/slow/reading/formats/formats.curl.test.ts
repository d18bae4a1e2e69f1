import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { visibleText } from '../../../../src/view/text.js'
import { storedRequest } from '../../../../src/reading/replay/stored-request.js'
import { hostileProfile, requested, written } from '../../../reading/formats/stored.js'
import { testdir } from '../../../support/folder.js'

const folder = testdir(t)
// Writes its arguments, each after its length.
writeFileSync(join(folder, 'curl'), '#!/bin/sh\nexec >"$CALLED"\nprintf "%s\\n" "$#"\nfor one; do printf "%s" "$one" | wc -c; printf "%s" "$one"; done\n')
chmodSync(join(folder, 'curl'), 0o755)

/** What a shell makes of a command: the arguments of the curl that it starts. */
function called (command: string, env: Record<string, string> = {}): string[] {
  const file = join(folder, 'called')
  rmSync(file, { force: true })
  execFileSync('/bin/sh', ['-c', command], { cwd: folder, env: { PATH: `${folder}:/usr/bin:/bin`, CALLED: file, ...env }, stdio: 'pipe' })
  const all = readFileSync(file)
  let at = 0
  const line = (): number => {
    const end = all.indexOf(10, at)
    const number = Number(all.subarray(at, end))
    at = end + 1
    return number
  }
  return Array.from({ length: line() }, () => {
    const length = line()
    at += length
    return all.subarray(at - length, at).toString()
  })
}

function argument (args: readonly string[], name: string): string | undefined {
  const index = args.indexOf(name)
  return index === -1 ? undefined : args[index + 1]
}

t.test('a shell sends exactly the stored request, for any profile', async (t) => {
  fc.assert(fc.property(hostileProfile, (profile) => {
    const { origin, target, headers, body } = storedRequest(profile)
    const command = written('curl', profile)
    const args = called(command)
    const sent = argument(args, '--data-raw')
    const isPrintable = body?.isWellFormed() === true && visibleText(body) === body
    if (sent !== (isPrintable ? body : undefined)) throw new Error(`${JSON.stringify(sent)} instead of ${JSON.stringify(body)}`)
    if (command.includes('# The body is left out: it has control characters.') === isPrintable) throw new Error('the comment')
    if (argument(args, '--url') !== origin + target) throw new Error(argument(args, '--url'))
    if (!args.includes(`x-nasty: ${String(headers['x-nasty'])}`) && !args.includes('x-nasty;')) throw new Error('x-nasty')
    if (existsSync(join(folder, 'pwned'))) throw new Error('a command ran')
  }), { numRuns: 25 })
})

t.test('masked values are read from the environment, and nothing is sent without them', async (t) => {
  const profile = requested({
    target: '/reset/******?key=******',
    headers: { authorization: 'Bearer ******', cookie: 'sid=******; a=1', 'content-type': 'application/json' },
    body: { password: '******' }
  }, { method: 'POST' })
  const command = written('curl', profile)
  for (const name of ['HINDSIGHT_PATH_2', 'HINDSIGHT_QUERY_KEY', 'HINDSIGHT_AUTHORIZATION', 'HINDSIGHT_COOKIE_SID', 'HINDSIGHT_BODY_PASSWORD']) {
    t.match(command, `#   ${name}\n`)
  }
  t.throws(() => called(command), /is masked in the profile/)
  const args = called(
    command,
    { HINDSIGHT_PATH_2: 'p', HINDSIGHT_QUERY_KEY: 'k', HINDSIGHT_AUTHORIZATION: '$(touch pwned)', HINDSIGHT_COOKIE_SID: 's', HINDSIGHT_BODY_PASSWORD: 'x' }
  )
  t.equal(argument(args, '--url'), 'http://127.0.0.1:3000/reset/p?key=k')
  t.ok(args.includes('authorization: Bearer $(touch pwned)'))
  t.ok(args.includes('cookie: sid=s; a=1'))
  t.equal(argument(args, '--data-raw'), '{"password":"x"}')
  t.notOk(existsSync(join(folder, 'pwned')))
})
