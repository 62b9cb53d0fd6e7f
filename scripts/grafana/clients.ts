/** The dashboard of keys and service classes: who asks for how much, and who gets what was promised. */
import { type Dashboard, type Query, rate, SELECTED_SERVER, serverRate } from './panels.ts';

const REQUESTS = 'chairlift_client_requests_total';
const TOKENS = 'chairlift_client_tokens_total';
const HITS = serverRate('chairlift_response_cache_hits_total', 'kind');
const MISSES = serverRate('chairlift_response_cache_misses_total', 'kind');
const MISSED = serverRate('chairlift_slo_violations_total', 'class, slo');
const PROMISED = serverRate('chairlift_slo_requests_total', 'class');

/** The latest p95 of each class, and what it is promised. */
function promised(slo: 'ttft' | 'itl'): readonly Query[] {
  const of = (metric: string, more: string): string =>
    `max by (class) (${metric}{${SELECTED_SERVER},slo="${slo}"${more}})`;
  return [
    [of('chairlift_slo_latency_seconds', ',quantile="0.95"'), '{{class}}'],
    [`${of('chairlift_slo_target_seconds', '')} < Inf`, '{{class}}: promised'],
  ];
}

export const clients: Dashboard = {
  file: 'clients',
  title: 'Chairlift / Keys and service classes',
  panels: [
    {
      title: 'Requests, by key',
      unit: 'reqps',
      queries: [[rate(REQUESTS, 'client'), '{{client}}']],
    },
    {
      title: 'Tokens generated a second, by key',
      queries: [[rate(TOKENS, 'client', ',kind="output"'), '{{client}}']],
    },
    {
      title: 'Prompt tokens a second, by key',
      queries: [[rate(TOKENS, 'client', ',kind="prompt"'), '{{client}}']],
    },
    {
      title: 'Answers from the response cache, by key',
      unit: 'percentunit',
      queries: [
        [
          `${rate(REQUESTS, 'client', ',cached="true"')} / ${rate(REQUESTS, 'client')}`,
          '{{client}}',
        ],
      ],
    },
    {
      title: 'Refused by a rate limit, by unit',
      unit: 'reqps',
      queries: [[serverRate('chairlift_rate_limited_total', 'unit'), '{{unit}}']],
    },
    {
      title: 'Hits of the response cache',
      unit: 'percentunit',
      queries: [[`${HITS} / (${HITS} + ${MISSES})`, '{{kind}}']],
    },
    {
      title: 'Requests, by service class',
      unit: 'reqps',
      queries: [[serverRate('chairlift_slo_requests_total', 'class'), '{{class}}']],
    },
    {
      title: 'Share of requests that missed a target',
      unit: 'percentunit',
      queries: [[`${MISSED} / on (class) group_left () ${PROMISED}`, '{{class}} {{slo}}']],
    },
    {
      title: 'Time to first token (p95), by service class',
      unit: 's',
      queries: promised('ttft'),
    },
    {
      title: 'Inter-token latency (p95), by service class',
      unit: 's',
      queries: promised('itl'),
    },
  ],
};
