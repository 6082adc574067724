import { writeFileSync, existsSync } from 'node:fs'
if (!existsSync('src/page.generated.ts'))
  writeFileSync(
    'src/page.generated.ts',
    "export const PAGE = ''\nexport const SCRIPT_HASHES: readonly string[] = ['sha256-x']\nexport const STYLE_HASHES: readonly string[] = []\n",
  )
