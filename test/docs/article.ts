/** What the pieces of several pages are about. */
export class Article {
  title = 'On time'
  author = 'grace'
}
