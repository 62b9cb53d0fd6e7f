import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Cell } from './plan.ts';

/** Load that GuideLLM is to make. */
export interface Load extends Cell {
  readonly program: string;
  readonly url: string;
  /** Name of the model, and the folder of its tokenizer. */
  readonly model: string;
  readonly tokenizer: string;
  readonly concurrency: number;
  readonly requests: number;
  /** Ends a cell early; what runs then does not count. */
  readonly seconds: number;
  /** File for its report. */
  readonly report: string;
}

/** Medians, and the value that 95% are under. GuideLLM's ITL is a mean of each request. */
export interface Spread {
  readonly median: number;
  readonly p95: number;
}

export interface Figures {
  readonly guidellm: string;
  readonly successful: number;
  readonly errored: number;
  readonly ttftMs: Spread;
  readonly itlMs: Spread;
  /** Rate of all streams, from the first request to the last token. */
  readonly outputTokensPerSecond: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** 1 if a server sends every token by itself; otherwise times between tokens mean less. */
  readonly tokensPerChunk: number;
  readonly seconds: number;
}

const spread = z.object({
  mean: z.number(),
  median: z.number(),
  total_sum: z.number(),
  percentiles: z.object({ p95: z.number() }),
});
const distribution = z.object({ successful: spread });
const report = z.object({
  metadata: z.object({ guidellm_version: z.string() }),
  benchmarks: z.tuple([
    z.object({
      duration: z.number(),
      metrics: z.object({
        request_totals: z.object({ successful: z.number(), errored: z.number() }),
        time_to_first_token_ms: distribution,
        inter_token_latency_ms: distribution,
        prompt_token_count: distribution,
        output_token_count: distribution,
        output_tokens_per_iteration: distribution,
      }),
    }),
  ]),
});

/** Prompts of so many tokens, the same for every server; greedy, to the full length. */
export function guidellmArguments(load: Load): string[] {
  const backend = {
    kind: 'openai_http',
    target: load.url,
    model: load.model,
    request_format: '/v1/completions',
    extras: { body: { temperature: 0 } },
  };
  const data = { prompt_tokens: load.prompt, output_tokens: load.output };
  const options = {
    backend,
    profile: { kind: 'concurrent', streams: [load.concurrency] },
    data: { kind: 'synthetic_text', ...data },
    // By default thousands of prompts are made in advance: seconds of a core, beside the first requests.
    'data-loader': { kind: 'pytorch', prefetch_factor: load.requests },
    tokenizer: { kind: 'hf_auto', model: load.tokenizer },
    output: { kind: 'json', path: load.report },
  };
  const constraints = [
    { kind: 'max_requests', count: load.requests },
    { kind: 'max_duration', seconds: load.seconds },
  ];
  return [
    'run',
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, JSON.stringify(value)]),
    ...constraints.flatMap((each) => ['--constraint', JSON.stringify(each)]),
    '--disable-console',
  ];
}

/** @throws {Error} if GuideLLM fails, or no request was answered in time */
export async function runGuidellm(load: Load): Promise<Figures> {
  // Tokenizers are read from a folder: no hub is asked.
  const env = { ...process.env, HF_HUB_OFFLINE: '1' };
  await promisify(execFile)(load.program, guidellmArguments(load), {
    env,
    maxBuffer: 2 ** 26,
  });
  return figuresOf(JSON.parse(await readFile(load.report, 'utf8')));
}

/** Figures of a report. @throws {Error} if no request succeeded */
export function figuresOf(json: unknown): Figures {
  const {
    metadata,
    benchmarks: [{ duration, metrics }],
  } = report.parse(json);
  const { successful, errored } = metrics.request_totals;
  if (successful === 0) throw new Error(`no request succeeded, ${errored} failed`);
  const output = metrics.output_token_count.successful;
  return {
    guidellm: metadata.guidellm_version,
    successful,
    errored,
    ttftMs: spreadOf(metrics.time_to_first_token_ms),
    itlMs: spreadOf(metrics.inter_token_latency_ms),
    outputTokensPerSecond: output.total_sum / duration,
    promptTokens: metrics.prompt_token_count.successful.mean,
    outputTokens: output.mean,
    tokensPerChunk: metrics.output_tokens_per_iteration.successful.mean,
    seconds: duration,
  };
}

function spreadOf({ successful }: z.infer<typeof distribution>): Spread {
  return { median: successful.median, p95: successful.percentiles.p95 };
}
