import type { FlagSpec } from './flag-spec.ts';
import { count, jsonObject, listOf, readable, text } from './values.ts';

/** Place of an adapter, and its model where several are served. */
export interface LoraModule {
  readonly path: string;
  /** Null for the only model. */
  readonly base: string | null;
}

/** Adapters as `name=folder`, or as vLLM has it `{"name": "...", "path": "...", "base_model_name": "..."}`. */
const adapter = readable('name=folder', (given): readonly [string, LoraModule] | undefined => {
  const [, name = '', path = ''] = /^([^=]+)=(.+)$/.exec(given) ?? [];
  if (!given.startsWith('{')) return path === '' ? undefined : [name, { path, base: null }];
  const fields = jsonObject.safeParse(given).data ?? {};
  const { name: called, path: folder, base_model_name: base = null } = fields;
  const isWhole = typeof called === 'string' && typeof folder === 'string';
  if (!isWhole || called === '' || folder === '') return undefined;
  if (base !== null && (typeof base !== 'string' || base === '')) return undefined;
  return [called, { path: folder, base }];
});

const adapterList = listOf(adapter).transform((pairs) => Object.fromEntries(pairs));

/** LoRA adapters: merged into the model, or picked by requests. */
export const ADAPTER_FLAGS = {
  adapter: {
    flags: '--adapter <folder>',
    description: 'LoRA adapter as PEFT stores it, or owner/name, that is merged into the model',
    schema: text.optional(),
  },
  loraModules: {
    flags: '--lora-modules <name=path>',
    description: 'LoRA adapters that requests pick as their model; several',
    schema: adapterList.optional(),
    list: 'commas',
    words: /^[\w][\w.-]*=|^\{/,
    isBasic: true,
  },
  loraDir: {
    flags: '--lora-dir <folder>',
    description: 'where /v1/load_lora_adapter finds adapters; without it no others are loaded',
    schema: text.optional(),
  },
  maxLoras: {
    flags: '--max-loras <n>',
    description: 'different LoRA adapters in one step',
    schema: count(1, 64),
    default: 4,
  },
  maxLoraRank: {
    flags: '--max-lora-rank <n>',
    description: 'largest rank of a LoRA adapter that requests pick',
    schema: count(1, 512),
    default: 16,
  },
  maxCpuLoras: {
    flags: '--max-cpu-loras <n>',
    description: 'LoRA adapters that are kept in memory',
    schema: count(1).optional(),
    defaultText: 'as --max-loras',
  },
} satisfies Record<string, FlagSpec>;
