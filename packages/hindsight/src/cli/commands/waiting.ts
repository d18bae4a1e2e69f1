import type { WaitingView } from '../../recording/waiting.js'
import type { Command } from '../command.js'
import { requestLines } from '../request-lines.js'
import { sentenceLines } from '../terminal.js'
import { fetchJson, serviceOf, URL_OPTION } from './compare.js'

export const waiting: Command = {
  args: '',
  options: {
    ...URL_OPTION,
    trace: { type: 'boolean', help: 'trace which timers and promises new requests wait for' }
  },
  run: async ({ flags, terminal, print, open }) => {
    const url = await serviceOf({ flags, open })
    let view = await fetchJson<WaitingView>(url, 'waiting.json')
    if (flags.trace === true && !view.tracing) {
      const form = new URLSearchParams({ form_token: view.formToken, trace: '1' })
      view = await fetchJson<WaitingView>(url, 'waiting', form)
    }
    const { formToken: _, ...shown } = view
    await print(shown, () => {
      // Without the option it is the server of the newest profile, and a store may have several.
      const others = flags.url === undefined ? [`Only ${url} was asked. Another server: --url <address>`] : []
      if (shown.waiting.length === 0) {
        return [`No request or job of ${url} has lasted for more than a second.`, ...others]
      }
      const lines = [...shown.waiting.flatMap((request) => [
        ...requestLines('▲', { ...request, status: 0, error: false, exception: null }, terminal),
        ...request.sentences.flatMap((sentence) => sentenceLines(sentence, terminal))
      ]), ...others]
      if (shown.tracing) return lines
      return [...lines, ...sentenceLines('For the line at which it waits: --trace, and run it again.', terminal)]
    })
    return shown.waiting.length > 0
  }
}
