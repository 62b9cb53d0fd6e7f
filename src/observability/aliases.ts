/** Metrics under the names that routers, autoscalers and dashboards made for vLLM look for. */

import type { Family } from './families.ts';

/** Further names of metrics, by their own. */
export type Aliases = ReadonlyMap<string, readonly string[]>;

export const NO_ALIASES: Aliases = new Map();

export const VLLM_ALIASES: Aliases = new Map(
  Object.entries({
    num_requests_running: [],
    num_requests_waiting: [],
    num_requests_waiting_by_reason: [],
    // Older versions of vLLM had `gpu` in these names, and tools still look for them.
    kv_cache_usage_perc: ['gpu_cache_usage_perc'],
    prefix_cache_queries_total: ['gpu_prefix_cache_queries_total'],
    prefix_cache_hits_total: ['gpu_prefix_cache_hits_total'],
    mm_cache_queries_total: [],
    mm_cache_hits_total: [],
    cache_config_info: [],
    num_preemptions_total: [],
    prompt_tokens_total: [],
    generation_tokens_total: [],
    request_success_total: [],
    iteration_tokens_total: [],
    time_to_first_token_seconds: [],
    inter_token_latency_seconds: [],
    request_time_per_output_token_seconds: [],
    e2e_request_latency_seconds: [],
    request_queue_time_seconds: [],
    request_inference_time_seconds: [],
    request_prefill_time_seconds: [],
    request_decode_time_seconds: [],
    request_prompt_tokens: [],
    request_generation_tokens: [],
    request_params_max_tokens: [],
    spec_decode_num_drafts_total: [],
    spec_decode_num_draft_tokens_total: [],
    spec_decode_num_accepted_tokens_total: [],
  }).map(([name, older]) => [
    `chairlift_${name}`,
    [name, ...older].map((other) => `vllm:${other}`),
  ]),
);

/** The metrics that have aliases, under these. */
export function aliased(families: readonly Family[], aliases: Aliases): Family[] {
  return families.flatMap((family) => {
    const names = aliases.get(family.name) ?? [];
    return names.map((alias) => renamed(family, alias));
  });
}

function renamed({ name, head, samples }: Family, alias: string): Family {
  const rest = head.slice(`# HELP ${name}`.length).replace(`# TYPE ${name} `, `# TYPE ${alias} `);
  return {
    name: alias,
    head: `# HELP ${alias}${rest}`,
    samples: `\n${samples}`.replaceAll(`\n${name}`, `\n${alias}`).slice(1),
  };
}
