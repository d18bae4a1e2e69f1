import { html } from '../view/html.js'

/** One page of a sliding window. */
export interface PageLink {
  page: number
  /** The path and query of that page; all other query parameters are kept. */
  url: string
  current: boolean
}

/** The pages around the current one, and where else to go; null where there is no such page. */
export interface SlidingWindow {
  first: PageLink
  previous: PageLink | null
  pages: PageLink[]
  next: PageLink | null
  last: PageLink
}

/** The words of the markup, for pages in other languages. */
export interface SlidingWindowLabels {
  /** The name of the landmark: `Pages`. */
  label?: string
  /** `Previous` */
  previous?: string
  /** `Next` */
  next?: string
  /** What stands for pages that are left out: `…`. */
  gap?: string
}

/** A sliding window as a list of links, with the first and the last page where they lie outside of it. */
export function slidingWindowHtml ({ first, previous, pages, next, last }: SlidingWindow, labels: SlidingWindowLabels = {}): string {
  const { label = 'Pages', previous: previousLabel = 'Previous', next: nextLabel = 'Next', gap = '…' } = labels
  const start = (pages[0] as PageLink).page
  const end = (pages.at(-1) as PageLink).page
  const items = [
    previous === null ? '' : html`<li class="previous"><a rel="prev" href="${previous.url}">${previousLabel}</a></li>`,
    start > 1 ? item(first) : '',
    start > 2 ? html`<li class="gap">${gap}</li>` : '',
    ...pages.map(item),
    end < last.page - 1 ? html`<li class="gap">${gap}</li>` : '',
    end < last.page ? item(last) : '',
    next === null ? '' : html`<li class="next"><a rel="next" href="${next.url}">${nextLabel}</a></li>`
  ]
  return html`<nav class="pagination" aria-label="${label}"><ul>!${items}</ul></nav>`
}

function item ({ page, url, current }: PageLink): string {
  return html`<li><a href="${url}"!${current ? ' aria-current="page"' : ''}>${page}</a></li>`
}
