import type { FastifyInstance } from 'fastify'
import type { Recorder } from '../recorder.js'

/** Routes of @fastify/websocket. */
export function declareSockets (app: FastifyInstance, recorder: Recorder): void {
  app.get('/socket', { websocket: true }, (socket, request) => {
    socket.send(`hello from ${request.url}`)
    socket.on('message', (message: Buffer) => { socket.send(`echo ${message.toString()}`) })
    // `injectWS` closes a socket after 30 seconds: during any later request.
    if (!request.url.endsWith('?injected')) socket.on('close', () => { recorder.note('the socket is closed') })
  })
  app.get('/socket/fails', { websocket: true }, () => { throw new Error('broken in a socket') })
  app.get('/socket/refused', { websocket: true, preValidation: async (_request, reply) => await reply.code(401).send({ own: 'refused' }) }, () => {})
  app.get('/socket/throws', { websocket: true, preValidation: async () => { throw new Error('broken before the upgrade') } }, () => {})
}
