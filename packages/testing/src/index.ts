export * from './redis/index.ts'
export { adapterContract, type Serve, type ServeOptions } from './contracts/adapter-contract.ts'
export { clientContract, type ClientKind, type ClientSettings } from './contracts/client-contract.ts'
export {
  deployOne,
  operatorOf,
  protect,
  type Deployment,
  type DeploymentOptions,
} from './redis/deployment.ts'
export { trustContract } from './contracts/trust-contract.ts'
export { upgradeContract } from './contracts/upgrade-contract.ts'
export { storeContract } from './contracts/store-contract.ts'
export { clientOf, serveHandler, type Client, type Served } from './served.ts'
export { makeProject, packPackages, type Project } from './packed.ts'
