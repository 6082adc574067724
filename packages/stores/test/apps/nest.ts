import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { tollgateStore } from '@tollgate/stores/nestjs-throttler'
import type { Build } from './opened.ts'

/** Decorators are functions: called as such, no compiler has to know them. */
function moduleOf(): { readonly controller: new () => object } {
  class HelloController {
    hello(): string {
      return 'hello'
    }
  }
  const method = Object.getOwnPropertyDescriptor(HelloController.prototype, 'hello') as PropertyDescriptor
  Get()(HelloController.prototype, 'hello', method)
  Controller()(HelloController)
  return { controller: HelloController }
}

export const buildNest: Build = async ({ store, options, limit, windowMs, more }) => {
  const storage = tollgateStore(store, options)
  const throttlers = [{ ttl: windowMs, limit, blockDuration: 0 }]
  const getTracker = ({ headers }: { headers?: Record<string, string> }): string =>
    headers?.['x-key'] ?? 'anyone'
  class AppModule {}
  Module({
    imports: [ThrottlerModule.forRoot({ throttlers, getTracker, storage, ...more })],
    controllers: [moduleOf().controller],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(AppModule)
  const app = await NestFactory.create(AppModule, { logger: false })
  await app.listen(0, '127.0.0.1')
  return { url: `${await app.getUrl()}/`, limiter: storage.limiter, close: () => app.close() }
}
