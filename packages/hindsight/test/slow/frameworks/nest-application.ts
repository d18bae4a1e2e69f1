import 'reflect-metadata'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { ExceptionFilter, LoggerService, Type } from '@nestjs/common'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import ts from 'typescript'
import { hindsight, type HindsightOptions } from '../../../src/index.js'
import { testdir } from '../../support/folder.js'

/** Where the application is written. */
export const SOURCE = join(import.meta.dirname, '../../fixtures/nest/application.ts')

/** What it exports; its decorators are not those that the other tests are compiled with. */
interface Application {
  AppModule: Type
  PlainModule: Type
  LoginFilter: Type<ExceptionFilter>
}

/** Compiles the application as Nest's own compiler does, with the types of parameters for its injection. */
export function compile (source: string, module: ts.ModuleKind): string {
  const compilerOptions = {
    module,
    target: ts.ScriptTarget.ES2022,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    inlineSourceMap: true,
    sourceRoot: `${pathToFileURL(dirname(source)).href}/`
  }
  return ts.transpileModule(readFileSync(source, 'utf8'), { fileName: source, compilerOptions }).outputText
}

let loading: Promise<Application> | undefined

/** The modules of the application, compiled to ES modules. */
export function application (t: Test): Promise<Application> {
  const folder = testdir(t)
  const file = join(folder, 'application.mjs')
  writeFileSync(file, compile(SOURCE, ts.ModuleKind.ESNext))
  return (loading ??= import(pathToFileURL(file).href) as Promise<Application>)
}

export interface Started {
  app: NestFastifyApplication
  fastify: FastifyInstance
}

export interface StartOptions {
  /** Null without Hindsight. */
  options?: HindsightOptions | null
  logger?: LoggerService | false
  adapter?: FastifyAdapter
  prepare?: (app: NestFastifyApplication) => unknown
  /** Whether the plugin is registered on the application, after Nest has registered its own middleware. */
  late?: boolean
}

/** Starts an application; it is closed with the test. */
export async function start (t: Test, module: Type, settings: StartOptions = {}): Promise<Started> {
  const { options = {}, logger = false, adapter = new FastifyAdapter(), prepare, late = false } = settings
  const given = { debug: true, profiler: { storage: 'memory' }, ...options } as HindsightOptions
  if (options !== null && !late) await adapter.getInstance().register(hindsight, given)
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, { logger })
  t.teardown(() => app.close())
  if (options !== null && late) await app.register(hindsight, given)
  await prepare?.(app)
  await app.init()
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
  await fastify.ready()
  return { app, fastify }
}
