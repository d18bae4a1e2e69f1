import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open, type Database, type RootDatabase } from 'lmdb'
import { seeds } from './seeds.js'

/** What an author writes. */
export interface Draft {
  title: string
  body: string
}

export interface Article extends Draft {
  id: number
  /** The language that it is written in. */
  locale: string
  /** The identifier of a user. */
  author: string
  createdAt: Date
  changedAt: Date
  /** Counts the changes. */
  version: number
}

export interface Order {
  limit: number
  offset: number
  sort: string | null
  direction: 'asc' | 'desc'
}

/** The articles, in an embedded database: no server to start. */
export class ArticleStore {
  readonly #root: RootDatabase
  readonly #articles: Database<Article, number>
  /** The ids once more, in the order of the titles. */
  readonly #titles: Database<number, [title: string, id: number]>
  readonly #close: () => void

  /** Opens a folder of articles, new ones in a new folder; without one they live as long as the process. */
  static async open (directory?: string): Promise<ArticleStore> {
    const store = new ArticleStore(directory)
    if (store.count() > 0) return store
    for (const { locale, author, day, ...draft } of seeds) await store.create(draft, author, locale, new Date(day))
    return store
  }

  private constructor (directory?: string) {
    const path = directory ?? mkdtempSync(join(tmpdir(), 'articles-'))
    this.#root = open({ path })
    this.#articles = this.#root.openDB({ name: 'articles' })
    this.#titles = this.#root.openDB({ name: 'titles' })
    this.#close = () => { if (directory === undefined) rmSync(path, { recursive: true, force: true }) }
  }

  count (): number {
    return this.#articles.getKeysCount()
  }

  find (id: number): Article | undefined {
    return this.#articles.get(id)
  }

  /** One page of all articles; they are numbered in the order of their dates. */
  list ({ limit, offset, sort, direction }: Order): Article[] {
    const range = { limit, offset, reverse: direction === 'desc' }
    if (sort !== 'title') return [...this.#articles.getRange(range).map(({ value }) => value)]
    return [...this.#titles.getRange(range).map(({ value: id }) => this.find(id) as Article)]
  }

  async create ({ title, body }: Draft, author: string, locale: string, createdAt = new Date()): Promise<Article> {
    return await this.#root.transaction(() => {
      // A number is never given twice, not even when the last article was deleted.
      const id = ((this.#root.get('last id') as number | undefined) ?? 0) + 1
      this.#root.put('last id', id)
      return this.#put({ id, title, body, author, locale, createdAt, changedAt: createdAt, version: 1 })
    })
  }

  async change (article: Article, { title, body }: Draft): Promise<Article> {
    return await this.#root.transaction(() => {
      this.#titles.remove(titleKey(article))
      return this.#put({ ...article, title, body, changedAt: new Date(), version: article.version + 1 })
    })
  }

  async remove (article: Article): Promise<void> {
    await this.#root.transaction(() => {
      this.#titles.remove(titleKey(article))
      this.#articles.remove(article.id)
    })
  }

  async close (): Promise<void> {
    await this.#root.close()
    this.#close()
  }

  #put (article: Article): Article {
    this.#articles.put(article.id, article)
    this.#titles.put(titleKey(article), article.id)
    return article
  }
}

function titleKey ({ title, id }: Article): [title: string, id: number] {
  return [title.toLowerCase(), id]
}
