import { CommandError, type Command } from '../command.js'
import { profileOf } from '../find.js'

const FORMS = ['curl', 'fetch', 'http', 'har', 'test']
const FRAMEWORKS = ['tap', 'node']

/** Writes the request of a profile as a command, source, an archive, or a regression test. */
export const toCommand: Command = {
  name: 'to',
  args: '<form> <token>',
  what: `write the request of a profile as ${FORMS.join(', ')}`,
  flags: { framework: { type: 'string' }, app: { type: 'string' } },
  help: { framework: 'of a test: tap, or node for node:test; node by default', app: 'of a test: what it imports the application by; ./app.js by default' },
  arity: [2, 2],
  async run ({ args: [form = '', token = ''], flags, terminal, open }) {
    const { framework, app } = flags
    if (!FORMS.includes(form)) throw new CommandError(`"${form}" is no form; there are ${FORMS.join(', ')}.`, 2)
    for (const [flag, value] of Object.entries({ framework, app })) if (value !== undefined && form !== 'test') throw new CommandError(`--${flag} belongs to the form test.`, 2)
    if (framework !== undefined && !FRAMEWORKS.includes(String(framework))) throw new CommandError(`--framework: "${String(framework)}" is neither tap nor node.`, 2)
    if (app === '') throw new CommandError('--app: it is empty; it is what the test imports the application by, such as ./app.js.', 2)
    const name = form === 'test' ? String(framework ?? 'node') : form
    const store = await open()
    const profile = await profileOf(store, token)
    const { FORMATS, writeAs } = await import('../../lib/profiler/formats/formats.js')
    const { NotSendableError } = await import('../../lib/profiler/replay/stored-request.js')
    try {
      for (const format of FORMATS.filter((one) => one.name === name)) {
        const written = writeAs(format, profile, app === undefined ? {} : { app: String(app) })
        if (flags.json === true) return await terminal.json(written, 2)
        await terminal.line(written.text.replace(/\n$/, ''))
      }
    } catch (error) {
      if (error instanceof NotSendableError) throw new CommandError(`The request of profile "${token}" cannot be sent again: ${error.message}`)
      throw error
    }
  }
}
