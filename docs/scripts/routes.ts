import Fastify, { type FastifyInstance } from 'fastify'
import { service } from '../../app/service.js'

/** What each route answers, by its name. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  _profiler_home: 'The list of profiles. `/_profiler` redirects here',
  _profiler_search: 'The profiles that match the [criteria](search.md), as a page, or as JSON by `Accept`',
  _profiler_search_json: 'The same as JSON',
  _profiler_latest: 'Redirects to the newest profile that matches the criteria. `panel` selects a panel; `part`, one part of the Markdown as a whole',
  _profiler_stream: 'New profiles that match the criteria, as server-sent events `profile`; and `waiting` with the tokens of requests that have not ended, when they change',
  _profiler_waiting: 'The [requests that have not ended](../how-to/waiting.md) after a second, in this process',
  _profiler_trace_waits: 'Traces what new requests wait for: `trace=1`, or no longer: `trace=0`',
  _profiler_mcp: 'Answers a message of the [Model Context Protocol](../how-to/markdown.md#let-an-assistant-search-the-profiles); needs no token of a form. `replay=1` permits replays',
  _profiler_mcp_other: 'Other methods: 405, with `Allow: POST`',
  _profiler_asset: 'A stylesheet or script of the pages and of the toolbar',
  _profiler: 'One profile: a page, JSON or Markdown by `Accept`, or by the suffix `.json` or `.md`. `panel` selects a panel',
  _profiler_as: 'The request of a profile in another format: see the command [to](cli.md#to)',
  _profiler_compare_chosen: 'Redirects to the comparison of the two profiles in `profile` of the query',
  _profiler_compare: 'Two profiles side by side: a page or JSON by `Accept`, or JSON by the suffix `.json`',
  _profiler_pin: 'Pins a profile, or unpins it',
  _profiler_differences: 'The differences from the last success, as the diagnostic page shows them',
  _profiler_replay_form: 'The form that replays the request of a profile',
  _profiler_replay: 'Replays the request of a profile, changed by the fields `method`, `url`, `headers` and `body`; with `cpu=1` it records a CPU profile',
  _profiler_coverage: 'Replays a failure and the last success of its route, and shows the functions that only one of them ran',
  _profiler_routes: 'The routes of the application with their hooks, and the numbers of the 1,000 newest profiles',
  _profiler_try_form: 'The form that sends a request to a route',
  _profiler_try: 'Sends the request of this form, and redirects to its profile',
  _profiler_plan: 'Shows how the database runs the query with the number `query` of a profile, if it certainly only reads',
  _profiler_cpu: 'The CPU profile of a request, as `.cpuprofile`',
  _profiler_csp_report: 'Receives the reports of browsers about violations of a Content-Security-Policy: `application/csp-report` of at most 64 kB, from pages of its own origin. A profile keeps 10 of them',
  _wdt: 'The toolbar of a request, as HTML',
  _wdt_requests: 'The requests that the toolbar of a page has sent, for pages of allowed origins',
  _wdt_script: 'The script of the toolbar, for pages of allowed origins',
  _preview_error: 'The error page of a status, as production shows it: `/_error/404`, `/_error/500.json`'
}

/** The page of the routes, as Markdown: what the service declares. */
export async function routesPage (): Promise<string> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  const rows: string[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    const methods = [method].flat()
    if (methods.includes('HEAD') && methods.length === 1) return
    const name = config?.name ?? ''
    const description = DESCRIPTIONS[name]
    if (description === undefined) throw new Error(`docs/scripts/routes.ts describes no route "${name}" (${url})`)
    const shown = methods.length > 3 ? 'all' : methods.join(', ')
    rows.push(`| ${shown} | \`${url.replaceAll('\\\\', '\\').replaceAll('|', '\\|')}\` | ${description} |`)
  })
  await app.register(service, { debug: true, profiler: { storage: 'memory' } })
  await app.ready()
  await app.close()
  return `# HTTP routes

The routes of the profiler exist in debug mode, for clients that [may see the debug
surface](../explanation/security-model.md#access-to-the-debug-surface).

In the service they are routes of the application. With \`profilerRole\` the routes below
\`/_profiler/\` exist in production, too, for users with that role. In other applications a private
Fastify instance has them. If the plugin is registered with a prefix, they have that prefix.

- GET routes answer HEAD, too.
- POST needs the token of a form of these pages, except where the table says otherwise.
- A request of another site is refused with 403.
- Responses have \`Cache-Control: no-store\`.

| method | path | what it answers |
|---|---|---|
${rows.join('\n')}
`
}
