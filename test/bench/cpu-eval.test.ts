import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { svg } from '../../scripts/bench/cpu-eval/chart.ts';
import { figuresOf, guidellmArguments } from '../../scripts/bench/cpu-eval/guidellm.ts';
import { planCells, resultFile, SERVERS } from '../../scripts/bench/cpu-eval/plan.ts';
import { costPerMillion, markdown, ratio } from '../../scripts/bench/cpu-eval/report.ts';
import type { CellResult } from '../../scripts/bench/cpu-eval/results.ts';
import { serverCommand } from '../../scripts/bench/cpu-eval/servers.ts';
import { paddedTokenizer } from '../../scripts/bench/cpu-eval/tokenizer.ts';
import { writeQuantized } from '../../scripts/bench/cpu-eval/write-gguf.ts';
import { KNOWN_SHAPES } from '../../scripts/bench/lib/known-shapes.ts';
import { tensorShapes, writeMadeUpCheckpoint } from '../../scripts/bench/lib/made-up-checkpoint.ts';
import { GgufFile } from '../../src/model/gguf/gguf-file.ts';
import { readGgufConfig } from '../../src/model/gguf/gguf-config.ts';
import { GgufWeights } from '../../src/model/gguf/gguf-weights.ts';
import { parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { countParameters } from '../../src/model/huggingface/parameter-count.ts';
import { SafetensorsWeights } from '../../src/model/huggingface/safetensors.ts';

const WANTED = {
  models: 'qwen3-0.6b,tinyllama-1.1b',
  cells: 'chat,rag,64/16',
  concurrency: '1,4',
  servers: 'chairlift-int8,llama-q8_0',
};

describe('planCells', () => {
  it('has the servers of a cell follow each other', () => {
    const cells = planCells(WANTED);
    // All three of Qwen3, and for TinyLlama two.
    expect(cells).toHaveLength((3 + 2) * 2 * 2);
    expect(cells.slice(0, 3).map(resultFile)).toEqual([
      'qwen3-0.6b.chat.1.chairlift-int8.json',
      'qwen3-0.6b.chat.1.llama-q8_0.json',
      'qwen3-0.6b.chat.4.chairlift-int8.json',
    ]);
  });

  it('leaves out what a context does not hold', () => {
    const cells = planCells(WANTED);
    const ofTiny = cells.filter(({ model }) => model === 'tinyllama-1.1b');
    expect(new Set(ofTiny.map(({ cell }) => cell))).toEqual(new Set(['chat', '64-16']));
  });

  it.each([
    [{ models: 'gpt-5' }, '--models: gpt-5 is not one of qwen3-0.6b,'],
    [{ cells: '0/5' }, '--cells: 0/5 is not one of chat,'],
    [{ concurrency: '1,0' }, '--concurrency: 0 is no count'],
    [{ servers: 'ollama' }, '--servers: ollama is not one of'],
  ])('refuses %o', (other, message) => {
    expect(() => planCells({ ...WANTED, ...other })).toThrow(message);
  });
});

function result(server: string, outputTokensPerSecond: number | null): CellResult {
  const spread = { median: 40, p95: 1200 };
  return {
    model: 'qwen3-0.6b',
    cell: 'chat',
    prompt: 512,
    output: 512,
    concurrency: 4,
    server,
    machine: '2 cores',
    threads: 2,
    date: '2026-11-28T09:00:00.000Z',
    failure:
      outputTokensPerSecond === null ? 'first\nno module <vllm>\n    at run (a.js:1:2)' : null,
    figures:
      outputTokensPerSecond === null
        ? null
        : {
            guidellm: '0.8.1',
            successful: 8,
            errored: 0,
            ttftMs: spread,
            itlMs: spread,
            outputTokensPerSecond,
            promptTokens: 512,
            outputTokens: 512,
            tokensPerChunk: 1,
            seconds: 10,
            startSeconds: 1,
            peakBytes: 1.5e9,
          },
  };
}

const RESULTS = [
  result('llama-q4_0', 20),
  result('vllm-bf16', null),
  result('llama-q8_0', 40),
  result('chairlift-int8', 60),
];

describe('the report', () => {
  it('compares ours with servers whose weights have as many bits', () => {
    const [q4, vllm, q8, ours] = RESULTS;
    expect(ratio(q8!, RESULTS)).toBe(1.5);
    expect([q4, vllm, ours].map((each) => ratio(each!, RESULTS))).toEqual([null, null, null]);
    expect(ratio(result('onnxruntime-int8', 30), RESULTS)).toBe(2);
  });

  it('has medians, P95, memory and costs of each server, and why one did not run', () => {
    const text = markdown(RESULTS, 0.06);
    // 1e6 tokens at 40 a second are 6.94 hours of two cores.
    expect(text).toContain(
      '| chat, 4 | llama-q8_0 | 40.0 | 1.50x | 40 ms | 1.2 s | 40 ms | 1.2 s | 1.50 GB | 0.83 |',
    );
    expect(text.indexOf('chairlift-int8')).toBeLessThan(text.indexOf('llama-q8_0'));
    expect(text).toContain('- qwen3-0.6b chat, 4: vllm-bf16: no module <vllm>');
  });

  it('draws a bar of a length in proportion', () => {
    const widths = [...svg(RESULTS).matchAll(/<rect x="300" y="\d+" width="([\d.]+)"/g)];
    expect(widths.map(([, width]) => Number(width))).toEqual([350, 233.3, 116.7, 0]);
  });

  it('counts the cost of all cores', () => {
    expect(costPerMillion(1e6 / 3600, 4, 0.5)).toBeCloseTo(2);
  });
});

describe('GuideLLM', () => {
  const load = {
    program: 'guidellm',
    url: 'http://127.0.0.1:1',
    model: 'm',
    tokenizer: '/t',
    prompt: 512,
    output: 256,
    concurrency: 4,
    requests: 8,
    seconds: 60,
    report: '/r.json',
  };

  it('is asked for exact lengths, greedily', () => {
    const args = guidellmArguments(load);
    const after = (flag: string): unknown => JSON.parse(args[args.indexOf(flag) + 1] ?? '');
    expect(after('--data')).toEqual({
      kind: 'synthetic_text',
      prompt_tokens: 512,
      output_tokens: 256,
    });
    expect(after('--profile')).toEqual({ kind: 'concurrent', streams: [4] });
    // No more than a cell asks for: what is made in advance takes a core from the server.
    expect(after('--data-loader')).toMatchObject({ prefetch_factor: 8 });
    expect(after('--backend')).toMatchObject({ extras: { body: { temperature: 0 } } });
  });

  it('has its figures read from its report', () => {
    const of = (mean: number, sum = mean) => ({
      successful: { mean, median: mean + 1, total_sum: sum, percentiles: { p95: mean + 2 } },
    });
    const metrics = {
      request_totals: { successful: 2, errored: 1 },
      time_to_first_token_ms: of(10),
      inter_token_latency_ms: of(20),
      prompt_token_count: of(512),
      output_token_count: of(256, 512),
      output_tokens_per_iteration: of(1),
    };
    const report = {
      metadata: { guidellm_version: '0.8.1' },
      benchmarks: [{ duration: 4, metrics }],
    };
    expect(figuresOf(report)).toEqual({
      guidellm: '0.8.1',
      successful: 2,
      errored: 1,
      ttftMs: { median: 11, p95: 12 },
      itlMs: { median: 21, p95: 22 },
      outputTokensPerSecond: 128,
      promptTokens: 512,
      outputTokens: 256,
      tokensPerChunk: 1,
      seconds: 4,
    });
    metrics.request_totals.successful = 0;
    expect(() => figuresOf(report)).toThrow('no request succeeded, 1 failed');
  });
});

describe('serverCommand', () => {
  const setup = {
    name: 'm',
    path: '/m',
    concurrency: 4,
    context: 1024,
    longest: 8192,
    threads: 2,
    port: 1,
    cacheFolder: '/c',
  };
  const programs = {
    chairlift: 'main.js',
    llamaServer: '/l/llama-server',
    ikLlamaServer: '/ik/llama-server',
    vllmPython: 'python3',
  };

  it.each([
    [
      'chairlift-int4',
      '--kernels auto --max-model-len 8192 --max-num-seqs 4 --threads 2 --no-prefix-caching',
    ],
    ['onnxruntime-int8', '--kernels onnxruntime --max-model-len 8192 --max-num-seqs 4 --threads 2'],
    ['llama-q8_0', '--parallel 4 --ctx-size 4096 --threads 2 --threads-batch 2 --cache-ram 0'],
    ['ik-q8_0', '--parallel 4 --ctx-size 4096 --threads 2 --threads-batch 2 --cache-ram 0'],
    ['vllm-bf16', '--max-model-len 1024 --max-num-seqs 4 --no-enable-prefix-caching'],
  ])('gives %s as much, and no caches of prefixes', (server, flags) => {
    const { args } = serverCommand(SERVERS[server]!, setup, programs);
    expect(args.join(' ')).toContain(flags);
  });

  it('runs the fork by its own program, with its own flags', () => {
    const mainline = serverCommand(SERVERS['llama-q4_0']!, setup, programs);
    const fork = serverCommand(SERVERS['ik-q4_0']!, setup, programs);
    expect([mainline.program, fork.program]).toEqual(['/l/llama-server', '/ik/llama-server']);
    expect(mainline.args).toContain('--no-cache-prompt');
    expect(fork.args).toContain('--run-time-repack');
    expect(fork.args).not.toContain('--no-cache-prompt');
  });
});

describe('checkpoints', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cpu-eval-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each(Object.entries(KNOWN_SHAPES))('have every tensor of %s', (name, shape) => {
    const config = parseDecoderConfig(shape, name);
    const sizes = [...tensorShapes(config).values()].map((dims) => dims.reduce((a, b) => a * b, 1));
    expect(sizes.reduce((a, b) => a + b, 0)).toBe(countParameters(config));
  });

  it.each(['qwen3-0.6b', 'llama-3.2-1b', 'qwen2.5-1.5b', 'granite-3.2-2b'] as const)(
    'of the family of %s are the same in GGUF',
    async (name) => {
      const small = { vocab_size: 4128, hidden_size: 64, intermediate_size: 96, head_dim: 32 };
      const heads = { num_attention_heads: 4, num_key_value_heads: 2, num_hidden_layers: 2 };
      const shape = { ...KNOWN_SHAPES[name], ...small, ...heads };
      const checkpoint = join(folder, name);
      await writeMadeUpCheckpoint(checkpoint, shape);
      const weights = await SafetensorsWeights.open([join(checkpoint, 'model.safetensors')]);
      const path = join(folder, `${name}.gguf`);
      const tokenizer = await paddedTokenizer(shape.vocab_size);
      await writeQuantized(path, { shape, weights, tokenizer }, 'q8_0');

      const file = await GgufFile.open(path);
      const { architecture, json } = await readGgufConfig(file);
      const config = parseDecoderConfig(json, path);
      const wanted = parseDecoderConfig(shape, name);
      expect(countParameters(config)).toBe(countParameters(wanted));
      for (const key of ['embeddingScale', 'logitScale', 'attentionScale', 'ropeTheta'] as const) {
        expect(config[key]).toBeCloseTo(wanted[key], 5);
      }
      const read = new GgufWeights(file, config, architecture);
      for (const [tensor, dims] of tensorShapes(wanted)) {
        const [from, to] = [await weights.get(tensor, dims), await read.get(tensor, dims)];
        let most = 0;
        for (const [index, value] of from.entries()) {
          most = Math.max(most, Math.abs(value - (to[index] ?? NaN)));
        }
        // Half a step of 8 bits: weights are under 0.1.
        expect(most, tensor).toBeLessThan(0.0004);
      }
      await weights.close();
      await read.close();
    },
  );

  it('have a tokenizer with a text for every token', async () => {
    const { tokens, merges, added } = await paddedTokenizer(5000);
    expect(tokens).toHaveLength(5000);
    expect(new Set(tokens).size).toBe(5000);
    expect(tokens.at(-1)).toBe('Ġw4999');
    expect(merges[0]).toMatch(/^\S+ \S+$/);
    expect(added.get(2)).toBe(true);
    await expect(paddedTokenizer(100)).rejects.toThrow('a vocabulary of 100 is under 4096');
  });
});
