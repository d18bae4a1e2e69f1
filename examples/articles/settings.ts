import type { ServiceOptions } from '../../lib/options.js'
import type { MailQueue } from './mails.js'
import { security } from './security.js'
import type { Article, ArticleStore } from './store.js'
import en, { type Words } from './words/en.js'
import fr from './words/fr.js'

// What this application adds to Fastify's types, all in one place.
declare module 'fastify' {
  interface FastifyInstance {
    articles: ArticleStore
    mails: MailQueue
  }
  interface FastifyParamConverters {
    article: Article
  }
  interface LocaleAwareServices {
    words: Words
    dates: Intl.DateTimeFormat
  }
  interface Session {
    /** The language of the page that somebody logged in on. */
    locale?: string
  }
}

const words: Record<string, Words> = { en, fr }

/** What this application asks of the lifecycle; where it listens and whether it explains itself says the environment. */
export function settings (articles: ArticleStore): ServiceOptions {
  return {
    defaultLocale: 'en',
    enabledLocales: Object.keys(words),
    acceptLanguage: true,
    localeAwareServices: {
      words: (locale: string) => words[locale],
      dates: (locale: string) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' })
    },
    // `/articles/:article` has the article itself in its parameters, or is not found.
    converters: {
      article: (id) => /^[1-9]\d{0,9}$/.test(id) ? articles.find(Number(id)) : null
    },
    // Scripts of any origin may use the API: it knows no cookies.
    cors: [{ path: '/api/', origin: '*', exposedHeaders: ['ETag', 'Link', 'Location'], maxAge: 600 }],
    security
  }
}
