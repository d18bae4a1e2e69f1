import { defineListener, whenRecorded } from '../lib/listener.js'

/** Records the request: method, URL, headers, query, cookies, body, attributes, and whether the session was used. */
export const requestDataCollector =
  defineListener('kernel.controller', 'request-data-collector', whenRecorded(
    (recorder, trace) => recorder.collectIncoming(trace)
  ))

/** Records the response: status, headers, content type and size, and the kind of a body that is no text. */
export const requestDataCollectorResponse =
  defineListener('kernel.response', 'request-data-collector', whenRecorded(
    (recorder, trace, payload) => recorder.collectResponse(trace, payload)
  ))
