import type { FastifyReply, FastifyRequest } from 'fastify'

/** Gathers what one panel shows: plain JSON data, masked already. */
export interface Collector {
  /** The key in `profile.collectors`. */
  name: string
  collect (request: FastifyRequest, reply: FastifyReply): unknown
}

/** What stands in a profile where a collector threw. */
export interface CollectorFailure {
  error: string
}

/** Runs one collector so that its failure costs only its own panel. */
export function runCollector (collector: Collector, request: FastifyRequest, reply: FastifyReply): unknown {
  try {
    return collector.collect(request, reply)
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) } satisfies CollectorFailure
  }
}
