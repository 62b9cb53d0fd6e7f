/** Dashboards in deploy/grafana. */
import { clients } from './clients.ts';
import {
  type Dashboard,
  quantiles,
  rate,
  SELECTED,
  SELECTED_SERVER,
  serverRate,
} from './panels.ts';

/** A gauge, summed. */
const level = (metric: string, by: string, more = ''): string =>
  `sum by (${by}) (${metric}{${SELECTED}${more}})`;

const STAGES = 'chairlift_request_stage_seconds';
const SUCCESS = 'chairlift_request_success_total';
const HITS = rate('chairlift_prefix_cache_hits_total', 'model_name');
const LOOKUPS = rate('chairlift_prefix_cache_queries_total', 'model_name');
const FAILED = ',finished_reason=~"error|timeout"';
const ACCEPTED = rate('chairlift_spec_decode_num_accepted_tokens_total', 'source');
const DRAFTED = rate('chairlift_spec_decode_num_draft_tokens_total', 'source');

const overview: Dashboard = {
  file: 'overview',
  title: 'Chairlift / Overview',
  panels: [
    {
      title: 'Requests that ended, by reason',
      unit: 'reqps',
      queries: [[rate(SUCCESS, 'finished_reason'), '{{finished_reason}}']],
    },
    {
      title: 'Tokens a second',
      queries: [
        [rate('chairlift_generation_tokens_total', 'job'), 'generated'],
        [rate('chairlift_prompt_tokens_total', 'job'), 'prompts'],
      ],
    },
    {
      title: 'Errors and refusals',
      unit: 'reqps',
      queries: [
        [rate(SUCCESS, 'finished_reason', FAILED), '{{finished_reason}}'],
        [rate('chairlift_request_rejected_total', 'reason'), 'refused: {{reason}}'],
      ],
    },
    {
      title: 'Running and waiting',
      queries: [
        [level('chairlift_num_requests_running', 'job'), 'running'],
        [level('chairlift_num_requests_waiting', 'job'), 'waiting'],
      ],
    },
    {
      title: 'Time to first token',
      unit: 's',
      queries: quantiles('chairlift_time_to_first_token_seconds'),
    },
    {
      title: 'Inter-token latency',
      unit: 's',
      queries: quantiles('chairlift_inter_token_latency_seconds'),
    },
    {
      title: 'KV cache in use',
      unit: 'percentunit',
      queries: [[`max by (instance) (chairlift_kv_cache_usage_perc{${SELECTED}})`, '{{instance}}']],
    },
    {
      title: 'Engine crashes',
      queries: [
        [
          `sum by (instance) (increase(chairlift_engine_crashes_total{${SELECTED}}[$__rate_interval]))`,
          '{{instance}}',
        ],
      ],
    },
    {
      title: 'HTTP answers, by status',
      unit: 'reqps',
      queries: [[serverRate('chairlift_http_requests_total', 'status'), '{{status}}']],
    },
    {
      title: 'Silence of engines with work',
      unit: 's',
      queries: [[level('chairlift_engine_heartbeat_age_seconds', 'instance'), '{{instance}}']],
    },
    {
      title: 'Models, by state',
      queries: [[`sum by (state) (chairlift_models{${SELECTED_SERVER}})`, '{{state}}']],
    },
    {
      title: 'Memory of the front',
      unit: 'bytes',
      queries: [[`process_resident_memory_bytes{${SELECTED_SERVER}}`, '{{instance}}']],
    },
    {
      title: 'CPU of the front',
      unit: 'percentunit',
      queries: [
        [`rate(process_cpu_seconds_total{${SELECTED_SERVER}}[$__rate_interval])`, '{{instance}}'],
      ],
    },
    {
      title: 'Event loop lag of the front (p99)',
      unit: 's',
      queries: [[`nodejs_eventloop_lag_p99_seconds{${SELECTED_SERVER}}`, '{{instance}}']],
    },
  ],
};

const latency: Dashboard = {
  file: 'latency',
  title: 'Chairlift / Latency',
  panels: [
    {
      title: 'Time to first token',
      unit: 's',
      width: 12,
      queries: quantiles('chairlift_time_to_first_token_seconds'),
    },
    {
      title: 'Time in the queue',
      unit: 's',
      width: 12,
      queries: quantiles('chairlift_request_queue_time_seconds'),
    },
    {
      title: 'Inter-token latency',
      unit: 's',
      width: 12,
      queries: quantiles('chairlift_inter_token_latency_seconds'),
    },
    {
      title: 'Whole requests',
      unit: 's',
      width: 12,
      queries: quantiles('chairlift_e2e_request_latency_seconds'),
    },
    {
      title: 'Stages of a request (mean)',
      unit: 's',
      width: 12,
      queries: [
        [`${rate(`${STAGES}_sum`, 'stage')} / ${rate(`${STAGES}_count`, 'stage')}`, '{{stage}}'],
      ],
    },
    {
      title: 'Stages of a request (p95)',
      unit: 's',
      width: 12,
      queries: [[`histogram_quantile(0.95, ${rate(`${STAGES}_bucket`, 'le,stage')})`, '{{stage}}']],
    },
    {
      title: 'Prefill',
      unit: 's',
      width: 12,
      queries: quantiles('chairlift_request_prefill_time_seconds'),
    },
    {
      title: 'Decode',
      unit: 's',
      width: 12,
      queries: quantiles('chairlift_request_decode_time_seconds'),
    },
    {
      title: 'Time to first token',
      type: 'heatmap',
      unit: 's',
      width: 12,
      queries: [[rate('chairlift_time_to_first_token_seconds_bucket', 'le'), '{{le}}']],
    },
    {
      title: 'Inter-token latency',
      type: 'heatmap',
      unit: 's',
      width: 12,
      queries: [[rate('chairlift_inter_token_latency_seconds_bucket', 'le'), '{{le}}']],
    },
  ],
};

const engine: Dashboard = {
  file: 'engine',
  title: 'Chairlift / KV cache and scheduling',
  panels: [
    {
      title: 'KV cache in use',
      unit: 'percentunit',
      queries: [[level('chairlift_kv_cache_usage_perc', 'instance,model_name'), '{{instance}}']],
    },
    {
      title: 'Prefix cache hits',
      unit: 'percentunit',
      queries: [[`${HITS} / ${LOOKUPS}`, '{{model_name}}']],
    },
    {
      title: 'Preemptions a second',
      queries: [[rate('chairlift_num_preemptions_total', 'instance'), '{{instance}}']],
    },
    {
      title: 'Waiting, by reason',
      queries: [[level('chairlift_num_requests_waiting_by_reason', 'reason'), '{{reason}}']],
    },
    {
      title: 'Prompt tokens in the queue',
      queries: [[level('chairlift_num_prompt_tokens_waiting', 'instance'), '{{instance}}']],
    },
    {
      title: 'Steps a second',
      queries: [[rate('chairlift_engine_steps_total', 'instance'), '{{instance}}']],
    },
    {
      title: 'Tokens computed in a step',
      queries: quantiles('chairlift_iteration_tokens_total'),
    },
    {
      title: 'Draft tokens that came true',
      unit: 'percentunit',
      queries: [[`${ACCEPTED} / ${DRAFTED}`, '{{source}}']],
    },
    {
      title: 'Drafts a second',
      queries: [[rate('chairlift_spec_decode_num_drafts_total', 'model_name'), '{{model_name}}']],
    },
  ],
};

const models: Dashboard = {
  file: 'models',
  title: 'Chairlift / Models',
  panels: [
    {
      title: 'Requests that ended',
      unit: 'reqps',
      queries: [[rate(SUCCESS, 'model_name'), '{{model_name}}']],
    },
    {
      title: 'Tokens generated a second',
      queries: [[rate('chairlift_generation_tokens_total', 'model_name'), '{{model_name}}']],
    },
    {
      title: 'Errors',
      unit: 'reqps',
      queries: [[rate(SUCCESS, 'model_name', FAILED), '{{model_name}}']],
    },
    {
      title: 'Time to first token (p95)',
      unit: 's',
      queries: [
        [
          `histogram_quantile(0.95, ${rate('chairlift_time_to_first_token_seconds_bucket', 'le,model_name')})`,
          '{{model_name}}',
        ],
      ],
    },
    {
      title: 'Inter-token latency (p95)',
      unit: 's',
      queries: [
        [
          `histogram_quantile(0.95, ${rate('chairlift_inter_token_latency_seconds_bucket', 'le,model_name')})`,
          '{{model_name}}',
        ],
      ],
    },
    {
      title: 'Running and waiting',
      queries: [
        [level('chairlift_num_requests_running', 'model_name'), '{{model_name}} running'],
        [level('chairlift_num_requests_waiting', 'model_name'), '{{model_name}} waiting'],
      ],
    },
    {
      title: 'Prompt length (p95)',
      queries: [
        [
          `histogram_quantile(0.95, ${rate('chairlift_request_prompt_tokens_bucket', 'le,model_name')})`,
          '{{model_name}}',
        ],
      ],
    },
    {
      title: 'Answer length (p95)',
      queries: [
        [
          `histogram_quantile(0.95, ${rate('chairlift_request_generation_tokens_bucket', 'le,model_name')})`,
          '{{model_name}}',
        ],
      ],
    },
    {
      title: 'Load time and evictions',
      unit: 's',
      queries: [
        [
          `${rate('chairlift_model_load_seconds_sum', 'model_name')} / ${rate('chairlift_model_load_seconds_count', 'model_name')}`,
          'load of {{model_name}}',
        ],
        [
          rate('chairlift_model_evictions_total', 'model_name'),
          'evictions of {{model_name}} a second',
        ],
      ],
    },
  ],
};

export const DASHBOARDS: readonly Dashboard[] = [overview, latency, engine, models, clients];
