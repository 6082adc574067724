export * from './redis/index.ts'
export {
  findMemcachedBinary,
  startMemcached,
  type MemcachedServer,
  type MemcachedServerOptions,
} from './memcached/server.ts'
export { adapterContract, type Serve, type ServeOptions } from './contracts/adapter-contract.ts'
export { clientContract, type ClientKind, type ClientSettings } from './contracts/client-contract.ts'
export { CLIENT_TROUBLES } from './contracts/client-troubles.ts'
export { deployCluster, deployOne, type Deployment } from './redis/deployment.ts'
export { identityContract, type Authenticating } from './contracts/identity-contract.ts'
export { routeContract, type ServedRoute } from './contracts/route-contract.ts'
export { mistakesContract, type Mistakes } from './contracts/mistakes-contract.ts'
export { trustContract } from './contracts/trust-contract.ts'
export { upgradeContract } from './contracts/upgrade-contract.ts'
export { Clocks } from './contracts/store-clocks.ts'
export { storeContract } from './contracts/store-contract.ts'
export { clientOf, serveHandler, serveHttp2Handler, type Client, type Served } from './served.ts'
export { namesOf } from './names-of.ts'
export { makeProject, packPackages, type Project } from './packed.ts'
export { cases, isDeep } from './deep.ts'
export { Random } from './random.ts'
