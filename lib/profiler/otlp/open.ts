import type { Warn } from '../write-metrics.js'
import { OtlpExporter } from './exporter.js'
import { otlpTarget, type OtlpSettings } from './settings.js'

/** Opens what sends profiles to a collector, by the option `profiler.otlp`. */
export function openExporter (option: true | OtlpSettings, warn: Warn): OtlpExporter {
  return new OtlpExporter({ target: otlpTarget(option === true ? {} : option), warn })
}
