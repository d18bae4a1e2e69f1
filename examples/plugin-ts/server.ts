import { build } from './app.js'

const app = await build()
process.stdout.write(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}\n`)
