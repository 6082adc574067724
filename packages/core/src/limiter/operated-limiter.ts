import type { Rule } from '../features/rules/rule.js'
import type { RuleCalls } from '../features/rules/rule-calls.js'
import type { OverrideOptions, RuleNote, RuleOptions, ScaleOptions } from '../features/rules/rule-options.js'
import type { Subject } from '../plans/subject.js'
import type { Limiter } from './limiter.js'
import type { Inspection } from './traffic/questions.js'
import type { RuleRecord } from './traffic/rule-log.js'
import type {
  DenialLog,
  DenialLogOptions,
  RuleLogOptions,
  TrafficCalls,
  TrafficView,
  TrafficViewOptions,
} from './traffic/traffic-calls.js'

/** What operators call: rules, and what goes on. */
export abstract class OperatedLimiter implements Pick<
  Limiter,
  'block' | 'unblock' | 'override' | 'scale' | 'rules' | 'inspect' | 'traffic' | 'denialLog' | 'ruleLog'
> {
  #rules!: RuleCalls
  #traffic!: TrafficCalls

  /** Called once, before any call. */
  protected operate(rules: RuleCalls, traffic: TrafficCalls): void {
    this.#rules = rules
    this.#traffic = traffic
  }

  block(subject: Subject | string, options: RuleOptions): Promise<Rule> {
    return this.#rules.block(subject, options)
  }

  unblock(subject: Subject | string, note?: RuleNote): Promise<boolean> {
    return this.#rules.unblock(subject, note)
  }

  override(subject: Subject | string, options: OverrideOptions): Promise<Rule> {
    return this.#rules.override(subject, options)
  }

  scale(plan: string, factor: number, options: ScaleOptions): Promise<Rule> {
    return this.#rules.scale(plan, factor, options)
  }

  rules(options?: { readonly of?: Subject | string | undefined }): AsyncIterable<Rule> {
    return this.#rules.rules(options)
  }

  inspect(subject: Subject | string): Promise<Inspection> {
    return this.#traffic.inspect(subject)
  }

  traffic(options?: TrafficViewOptions): Promise<TrafficView> {
    return this.#traffic.view(options)
  }

  denialLog(options?: DenialLogOptions): Promise<DenialLog> {
    return this.#traffic.denialLog(options)
  }

  ruleLog(options?: RuleLogOptions): Promise<readonly RuleRecord[]> {
    return this.#traffic.ruleLog(options)
  }
}
