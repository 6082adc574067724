import type { VNode } from 'preact'
import type { RulesAnswer } from '../../src/answers.ts'
import { useFetched } from '../fetched.ts'
import { Panel, Problem } from '../parts/panel.tsx'
import { HistoryTable, RulesTable } from './rule-tables.tsx'

const EVERY_MS = 5_000

export function Rules(): VNode {
  const { answer, problem, at, refetch } = useFetched<RulesAnswer>('api/rules', EVERY_MS)
  const oldAt = problem !== '' && answer ? at : undefined
  return (
    <>
      <div class="title">
        <h1>Rules</h1>
        <p class="covers">Blocks, overrides and scales. All processes follow them within about a second.</p>
      </div>
      <Problem says={problem} />
      <Panel title="Rules that hold" oldAt={oldAt}>
        <RulesTable
          rules={answer?.rules ?? null}
          refetch={refetch}
          none="No rule holds: plans decide alone."
        />
      </Panel>
      <Panel title="History" covers="The latest changes first" oldAt={oldAt}>
        <HistoryTable history={answer?.history ?? null} none="No rule was ever set." />
      </Panel>
    </>
  )
}
