import { build } from './app.js'

const app = await build()
// Requests under way are answered, and their profiles are stored, before the process ends.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
process.stdout.write(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}\n`)
