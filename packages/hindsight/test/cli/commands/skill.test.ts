import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { COMMANDS, executeCommand } from '../../../src/cli/run.js'
import { testdir } from '../../support/folder.js'

async function skill (...args: string[]): Promise<{ code: number, out: string, err: string }> {
  const [out, err] = [new PassThrough(), new PassThrough()]
  const code = await executeCommand(['skill', ...args], out, err)
  out.end()
  err.end()
  return { code, out: await text(out), err: await text(err) }
}

/** A project folder, in which the commands run. */
function inProject (t: Test): void {
  const before = process.cwd()
  process.chdir(testdir(t))
  t.teardown(() => { process.chdir(before) })
}

t.test('each assistant receives one short file in its format, which is shown', async (t) => {
  inProject(t)
  for (const [name, path, head] of [
    ['claude', '.claude/skills/fastify-hindsight/SKILL.md', /^---\nname: fastify-hindsight\ndescription: [^\n:]+\n---\n\n# /],
    ['codex', '.agents/skills/fastify-hindsight/SKILL.md', /^---\nname: fastify-hindsight\ndescription: [^\n:]+\n---\n\n# /],
    ['cursor', '.cursor/rules/fastify-hindsight.mdc', /^---\ndescription: [^\n:]+\nalwaysApply: false\n---\n\n# /],
    ['copilot', '.github/instructions/fastify-hindsight.instructions.md', /^---\ndescription: [^\n:]+\napplyTo: "\*\*"\n---\n\n# /],
    ['agents', 'AGENTS.md', /^<!-- fastify-hindsight -->\n# /]
  ] as const) {
    const { code, out, err } = await skill('install', '--for', name)
    const content = readFileSync(path, 'utf8')
    t.same([code, err, out], [0, '', `${content}\n${path} was written.\n`], name)
    t.match(content, head, name)
    t.ok(content.length < 2_000, `${content.length}`)
    t.match(await skill('install', '--for', name), { code: 0, out: `${path} has this text.` })
  }
  const agents = readFileSync('AGENTS.md', 'utf8').split('\n').slice(1, -2).join('\n')
  t.ok(readFileSync('.claude/skills/fastify-hindsight/SKILL.md', 'utf8').includes(agents), 'AGENTS.md has the same text')
})

t.test('its commands and options exist', async (t) => {
  inProject(t)
  const { out } = await skill('install')
  const commands = [...out.matchAll(/fastify-hindsight (\w+)([^`]*)`/g)]
  t.ok(commands.length > 6)
  for (const [command, name = '', rest = ''] of commands) {
    const options = [...rest.matchAll(/--([\w-]+)/g)].map(([, option]) => option ?? '')
    const known = await COMMANDS[name]?.load()
    t.ok(options.every((option) => Object.hasOwn(known?.options ?? {}, option)), command)
    t.ok(known, command)
  }
})

t.test('other text is never overwritten without --force, and AGENTS.md keeps its own', async (t) => {
  inProject(t)
  mkdirSync('.cursor/rules', { recursive: true })
  const [rule, agents] = ['.cursor/rules/fastify-hindsight.mdc', 'AGENTS.md']
  writeFileSync(rule, 'mine\n')
  writeFileSync(agents, '# Ours\n\nText.\n')
  for (const [name, path, before] of [['cursor', rule, 'mine\n'], ['agents', agents, '# Ours\n\nText.\n']] as const) {
    const refused = await skill('install', '--for', name)
    t.same([refused.code, refused.err], [1, `fastify-hindsight: ${path} exists with other text, and was not changed: --force does it.\n`])
    t.equal(readFileSync(path, 'utf8'), before)
    t.equal((await skill('install', '--for', name, '--force')).code, 0)
  }
  t.match(readFileSync(rule, 'utf8'), /^---\n/)
  const first = readFileSync(agents, 'utf8')
  t.match(first, /^# Ours\n\nText\.\n\n<!-- fastify-hindsight -->\n/)
  writeFileSync(agents, `${first.replace('Read a profile before you guess.', 'Old.')}\nMore.\n`)
  t.equal((await skill('install', '--force')).code, 0)
  t.equal(readFileSync(agents, 'utf8'), `${first}\nMore.\n`)
})

t.test('an unknown name is an error with the list', async (t) => {
  inProject(t)
  for (const args of [['install', '--for', 'unknown'], ['remove']]) {
    const { code, out, err } = await skill(...args)
    t.same([code, out], [1, ''])
    t.match(err, /^fastify-hindsight: There is no "(?:install --for unknown|remove --for agents)": /)
    t.ok(err.endsWith(': skill install --for is one of agents, claude, codex, copilot, cursor.\n'), err)
  }
  t.notOk(existsSync('AGENTS.md'))
  t.match(JSON.parse((await skill('install', '--json')).out), { path: 'AGENTS.md', written: true, content: String })
})
