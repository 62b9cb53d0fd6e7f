import { KNOWN_SHAPES, type ShapeName } from '../lib/known-shapes.ts';
import { CONVERTED_SHAPES, type ConvertedName } from './converted.ts';

/** Prompt and output of a request, in tokens. */
export interface Cell {
  readonly prompt: number;
  readonly output: number;
}

/** Those of vllm-cpu-perf-eval by their names there, then those of vLLM's own suite for CPUs. */
export const CELLS: Readonly<Record<string, Cell>> = {
  chat: { prompt: 512, output: 512 },
  rag: { prompt: 7680, output: 512 },
  code: { prompt: 1024, output: 1024 },
  summary: { prompt: 2048, output: 256 },
  reasoning: { prompt: 256, output: 2048 },
  'random-128-128': { prompt: 128, output: 128 },
  'random-128-2048': { prompt: 128, output: 2048 },
  'random-2048-128': { prompt: 2048, output: 128 },
};

/** Smallest first. */
export const MODELS = [
  'qwen3-0.6b',
  'qwen3.5-0.8b',
  'tinyllama-1.1b',
  'llama-3.2-1b',
  'qwen2.5-1.5b',
  'granite-3.2-2b',
  'llama-3.2-3b',
  'gemma-4-e2b',
  'llama-3.1-8b',
] as const satisfies readonly (ShapeName | ConvertedName)[];

export type ModelName = (typeof MODELS)[number];

/** Longest context of a model, in tokens. */
export function contextOf(model: ModelName): number {
  return { ...KNOWN_SHAPES, ...CONVERTED_SHAPES }[model].max_position_embeddings;
}

/** A program and its weights' precision; servers are compared among those of the same bits. */
export interface ServerKind {
  readonly program: 'chairlift' | 'llama-server' | 'ik-llama-server' | 'vllm';
  readonly precision: string;
  readonly bits: number;
  /** Chairlift's kernels, where they are not the ones that it takes by itself. */
  readonly kernels?: 'onnxruntime';
}

export const SERVERS: Readonly<Record<string, ServerKind>> = {
  'chairlift-int8': { program: 'chairlift', precision: 'int8', bits: 8 },
  'onnxruntime-int8': {
    program: 'chairlift',
    precision: 'int8',
    bits: 8,
    kernels: 'onnxruntime',
  },
  'llama-q8_0': { program: 'llama-server', precision: 'q8_0', bits: 8 },
  'ik-q8_0': { program: 'ik-llama-server', precision: 'q8_0', bits: 8 },
  'chairlift-int4': { program: 'chairlift', precision: 'int4', bits: 4 },
  'llama-q4_0': { program: 'llama-server', precision: 'q4_0', bits: 4 },
  'ik-q4_0': { program: 'ik-llama-server', precision: 'q4_0', bits: 4 },
  'vllm-bf16': { program: 'vllm', precision: 'bf16', bits: 16 },
};

export interface PlannedCell extends Cell {
  readonly model: ModelName;
  readonly cell: string;
  readonly concurrency: number;
  readonly server: string;
}

/** Cells to run, as names by commas. */
export interface Wanted {
  readonly models: string;
  readonly cells: string;
  readonly concurrency: string;
  readonly servers: string;
}

/**
 * Servers of a cell follow each other, so that a machine that others use is as busy for one as for the next.
 * Those that do not fit into a model's context are left out.
 * @throws {Error} naming what is not known
 */
export function planCells(wanted: Wanted): PlannedCell[] {
  const models = among(MODELS, wanted.models, '--models');
  const cells = wanted.cells.split(',').map(cellOf);
  const servers = among(Object.keys(SERVERS), wanted.servers, '--servers');
  const counts = wanted.concurrency.split(',').map((text) => {
    const count = Number(text);
    if (!Number.isInteger(count) || count < 1)
      throw new Error(`--concurrency: ${text} is no count`);
    return count;
  });
  return models.flatMap((model) =>
    cells
      .filter(({ prompt, output }) => prompt + output <= contextOf(model))
      .flatMap(({ name, prompt, output }) =>
        counts.flatMap((concurrency) =>
          servers.map((server) => ({ model, cell: name, prompt, output, concurrency, server })),
        ),
      ),
  );
}

/** A cell by its name, or by its lengths as `128/32`. */
function cellOf(text: string): Cell & { readonly name: string } {
  const known = CELLS[text];
  if (known !== undefined) return { name: text, ...known };
  const [, prompt, output] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? [];
  if (prompt === undefined || output === undefined) {
    const names = Object.keys(CELLS).join(', ');
    throw new Error(`--cells: ${text} is not one of ${names}, nor PROMPT/OUTPUT`);
  }
  return { name: `${prompt}-${output}`, prompt: Number(prompt), output: Number(output) };
}

function among<Name extends string>(known: readonly Name[], text: string, flag: string): Name[] {
  return text.split(',').map((name) => {
    const found = known.find((each) => each === name);
    if (found === undefined) throw new Error(`${flag}: ${name} is not one of ${known.join(', ')}`);
    return found;
  });
}

/** Name of the file that a cell's result is in. */
export function resultFile({ model, cell, concurrency, server }: PlannedCell): string {
  return `${model}.${cell}.${concurrency}.${server}.json`;
}
