import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { execute } from '../../cli/run.js'
import { profileMarkdown } from '../../lib/profiler/markdown/profile-markdown.js'
import { openStorage } from '../../lib/profiler/storage/open.js'
import { recordOf } from '../../lib/profiler/summary.js'
import { profile } from '../lib/profiler/fixture.js'
import { sample } from '../lib/profiler/sample.js'
import { testdir } from '../support/folder.js'

async function hindsight (t: Test, args: string[], dataDir: string): Promise<[code: number, out: string, err: string]> {
  const [out, err] = [new PassThrough(), new PassThrough()]
  const code = await execute([...args, '--data-dir', dataDir], out, err)
  out.end()
  err.end()
  return [code, await text(out), await text(err)]
}

t.test('the command shows the same Markdown as the route', async (t) => {
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  await store.put([recordOf(sample('\u001b[31mred')), recordOf(profile('000002'))])
  await store.close()
  t.same(await hindsight(t, ['show', '3fa94c'], dataDir), [0, profileMarkdown(sample('\u001b[31mred')), ''])
  t.same(await hindsight(t, ['show', 'latest', '--error', '1'], dataDir), [0, profileMarkdown(sample('\u001b[31mred')), ''])
})
