export * from './redis/index.ts'
export {
  findMemcachedBinary,
  startMemcached,
  type MemcachedServer,
  type MemcachedServerOptions,
} from './memcached/server.ts'
export { adapterContract, type Serve, type ServeOptions } from './contracts/adapter-contract.ts'
export { clientContract, type ClientKind, type ClientSettings } from './contracts/clients/client-contract.ts'
export { CLIENT_TROUBLES } from './contracts/clients/client-troubles.ts'
export { deployCluster, deployOne, type Deployment } from './redis/deployment.ts'
export { identityContract, type Authenticating } from './contracts/requests/identity-contract.ts'
export { routeContract, type ServedRoute } from './contracts/routes/route-contract.ts'
export { mistakesContract, type Mistakes } from './contracts/requests/mistakes-contract.ts'
export { trustContract } from './contracts/requests/trust-contract.ts'
export { usageContract } from './contracts/usage/usage-contract.ts'
export { upgradeContract } from './contracts/responses/upgrade-contract.ts'
export { Clocks } from './contracts/store-clocks.ts'
export { storeContract } from './contracts/store-contract.ts'
export {
  clientOf,
  closingLimiters,
  serveHandler,
  serveHttp2Handler,
  type Client,
  type Served,
} from './served.ts'
export { namesOf } from './names-of.ts'
export { makeProject, packPackages, type Project } from './packed.ts'
export { cases, isDeep } from './deep.ts'
export { Random } from './random.ts'
