import type { Deployment } from './deployment.ts'

/**
 * Servers that all with the same `deploy` use, one after the other: the start of a cluster takes seconds. The last to
 * leave ends them.
 */
export class SharedServers {
  static readonly #all = new Map<() => Promise<Deployment>, SharedServers>()
  readonly #deploy: () => Promise<Deployment>
  #deployment: Promise<Deployment> | undefined
  #users = 0

  private constructor(deploy: () => Promise<Deployment>) {
    this.#deploy = deploy
  }

  /** For one more user, who leaves at its end. */
  static of(deploy: () => Promise<Deployment>): SharedServers {
    const servers = this.#all.get(deploy) ?? new SharedServers(deploy)
    this.#all.set(deploy, servers)
    servers.#users += 1
    return servers
  }

  /** The servers, empty. */
  async get(): Promise<Deployment> {
    const deployment = await (this.#deployment ??= this.#deploy())
    await Promise.all(deployment.operators.map((operator) => operator.flushall()))
    return deployment
  }

  /** Ends servers that a test left broken: the next test gets others. */
  async replace(): Promise<void> {
    const deployment = this.#deployment
    this.#deployment = undefined
    await (await deployment)?.end()
  }

  async leave(): Promise<void> {
    this.#users -= 1
    if (this.#users === 0) await this.replace()
  }
}
