/** The entry point for modules with database clients: it loads no other part of Hindsight. */
export { observe, recordQuery } from './queries/observe.js'
export type { QueryEnd, QueryStart } from './queries/query.js'
