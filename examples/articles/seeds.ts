/** What a new store begins with. */
export const seeds = [
  {
    locale: 'en',
    author: 'ada',
    day: '2025-01-14',
    title: 'A header is a promise',
    body: `When a server says max-age=60 it promises that for a minute nothing will be wrong with the copy. Nobody comes back to ask. A promise that was too long cannot be taken back; it has to run out.

So begin with short ones. A minute is an age for a page that is asked for a thousand times a second.`
  },
  {
    locale: 'en',
    author: 'grace',
    day: '2025-02-03',
    title: '304 is a success',
    body: `Dashboards like to paint everything red that is not 200. But a 304 is the cheapest good answer there is: what you have is still right, and here is no body to prove it.

Count them with the successes, and watch what happens to them when you deploy.`
  },
  {
    locale: 'fr',
    author: 'ada',
    day: '2025-02-21',
    title: 'Éloge de la lenteur',
    body: `Une limite de débit n’est pas une punition. C’est une façon polie de dire : tout le monde sera servi, mais pas tout le monde à la fois.

Encore faut-il dire quand revenir. C’est à cela que sert Retry-After.`
  },
  {
    locale: 'en',
    author: 'grace',
    day: '2025-03-17',
    title: 'The order of things',
    body: `Who are you, may you, what do you want: in that order. A body that is parsed before anybody has asked who sent it is work for a stranger.

Most of what we call security is doing the same things as everybody else, a little earlier.`
  },
  {
    locale: 'en',
    author: 'ada',
    day: '2025-04-02',
    title: 'Weak tags, strong tags',
    body: 'A strong tag says: the same bytes. A weak one says: the same for all you care. Caches are content with the second; whoever wants to write without undoing the work of others needs the first.'
  },
  {
    locale: 'fr',
    author: 'grace',
    day: '2025-05-09',
    title: 'Parler deux langues',
    body: `Une page, une adresse, une langue. Celui qui partage un lien partage aussi la langue dans laquelle il l’a lu.

Le navigateur dit ce qu’il préfère ; on l’écoute à l’entrée, une seule fois, puis c’est l’adresse qui décide.`
  },
  {
    locale: 'en',
    author: 'grace',
    day: '2025-06-11',
    title: 'Page seven of nine',
    body: `An offset counts what it throws away. For nine pages that is nobody's business; for nine thousand it is the whole of the work.

Either way the links belong in the header too: a program should not have to read a page to find the next one.`
  },
  {
    locale: 'en',
    author: 'ada',
    day: '2025-07-23',
    title: 'What the log does not say',
    body: 'A log line is written by somebody who did not know yet what would go wrong. Keep the lines of one request together, and the few that matter find each other.'
  },
  {
    locale: 'fr',
    author: 'ada',
    day: '2025-09-01',
    title: 'La cause de la cause',
    body: 'Une erreur qui en cache une autre est un mensonge par omission. Gardez la première : c’est souvent la seule qui sache ce qui s’est passé.'
  },
  {
    locale: 'en',
    author: 'grace',
    day: '2025-09-30',
    title: 'Nonces are not for sharing',
    body: `A number used once has no place on a page that a cache hands to everybody. Either the page is private, or its scripts live in files of their own.

In this example the form has a nonce, and the article, which is cached, has none.`
  },
  {
    locale: 'en',
    author: 'ada',
    day: '2025-11-18',
    title: 'Not found is an answer',
    body: 'An address that names nothing deserves a clear no: not an empty page, not a redirect to the front door. Somebody followed a link and wants to know whether to look further.'
  },
  {
    locale: 'fr',
    author: 'grace',
    day: '2026-01-08',
    title: 'Le formulaire et son double',
    body: 'Un formulaire peut être envoyé par une page qui n’est pas la vôtre. Le jeton qu’il porte dit d’où il vient ; sans lui, on ne signe rien.'
  },
  {
    locale: 'en',
    author: 'ada',
    day: '2026-02-12',
    title: 'Forty-two small steps',
    body: 'A request walks a long way before it meets the code that you have written. None of the steps is clever. The trick is that each knows which one comes before it, and that somebody wrote down what happened.'
  }
]
