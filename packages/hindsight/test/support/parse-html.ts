import { JSDOM } from 'jsdom'
import type { SafeHtml } from '../../src/view/text.js'

const parser = new (new JSDOM().window.DOMParser)()

/** A page as a document. Without a window of its own, whose scripts could run, it takes two thirds of the time. */
export function parseHtml (page: string | SafeHtml): Document {
  return parser.parseFromString(String(page), 'text/html')
}
