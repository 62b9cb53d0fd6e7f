import type { ExpertRules } from '../families/expert-rules.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** Groups of experts, of equal sizes: those of a token are of the groups with the highest scores. */
export interface ExpertGroups {
  readonly count: number;
  readonly perToken: number;
  /** How many of a group's highest scores are added up for its own. */
  readonly scored: 1 | 2;
}

/**
 * Undefined where a token's experts are picked of all.
 * @param isCorrected whether scores are corrected before groups are picked
 * @throws {ModelError} if groups are not equal, or too few for a token's experts
 */
export function parseGroups(
  { n_group: count, topk_group: picked, topk_method: method }: HuggingFaceConfig,
  experts: { readonly count: number; readonly perToken: number },
  isCorrected: boolean,
  origin: string,
): ExpertGroups | undefined {
  if (!count || count === 1 || method === 'greedy') return undefined;
  const perToken = picked ?? count;
  const scored = isCorrected ? 2 : 1;
  const size = experts.count / count;
  if (!Number.isInteger(size) || size < scored) {
    throw new ModelError(
      `${origin}: ${experts.count} experts in n_group ${count} are not supported (supported: groups of equal sizes, of at least ${scored})`,
    );
  }
  if (perToken > count || perToken * size < experts.perToken) {
    throw new ModelError(
      `${origin}: topk_group ${perToken} of ${count} groups of ${size} experts is not supported (supported: enough for ${experts.perToken} of a token)`,
    );
  }
  return perToken === count ? undefined : { count, perToken, scored };
}

/** Routing by sigmoids, to which a correction is added where experts are picked. */
const CORRECTED = 'noaux_tc';

/** Ways of routing by the names that configurations have for them, and whether these correct scores. */
const METHODS: Readonly<Record<string, boolean>> = {
  greedy: false,
  group_limited_greedy: false,
  [CORRECTED]: true,
};

function topkIsPlain(method: string | null | undefined): boolean {
  return method === 'greedy' || method === 'group_limited_greedy';
}

/** @throws {ModelError} naming a field by which experts are picked otherwise than the family's */
export function rejectOtherRouting(
  hf: HuggingFaceConfig,
  { scoring }: ExpertRules,
  isCorrected: boolean,
  origin: string,
): void {
  const { topk_method: method, scoring_func: stated, moe_layer_freq: step } = hf;
  const reject = (what: string, supported: string): never => {
    throw new ModelError(`${origin}: ${what} is not supported (supported: ${supported})`);
  };
  if (method && METHODS[method] !== isCorrected) {
    const names = Object.keys(METHODS).filter((name) => METHODS[name] === isCorrected);
    reject(`topk_method "${method}"`, names.join(', '));
  }
  // Its classes do not agree on what becomes of shares then.
  if (hf.norm_topk_prob && topkIsPlain(method)) reject('norm_topk_prob of deepseek_v2', 'false');
  // dots.llm1 has the name of its method there, whose scores are sigmoids.
  const isMethod = stated === CORRECTED && isCorrected && scoring === 'sigmoid';
  if (stated && stated !== scoring && !isMethod) reject(`scoring_func "${stated}"`, scoring);
  if (step !== undefined && step !== null && step !== 1) reject('moe_layer_freq', '1');
}
