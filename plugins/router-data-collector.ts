import { defineListener, whenRecorded } from '../lib/listener.js'

/** Records the route, its parameters and where it was declared; and of the other routes why they did not match. */
export const routerDataCollector =
  defineListener('kernel.controller', 'router-data-collector', whenRecorded(
    (recorder, trace) => recorder.collectRoute(trace)
  ))
