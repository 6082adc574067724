import { config } from '../src/vitepress.ts'

export default config
