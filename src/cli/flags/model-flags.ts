import { z } from 'zod';
import { PRECISIONS } from '../../model/build/manifest.ts';
import type { FlagSpec } from './flag-spec.ts';
import { assignments, count } from './values.ts';

/** What is computed, in which numbers, by which device. */
export const MODEL_FLAGS = {
  model: {
    flags: '--model <folder>',
    description:
      'Hugging Face folder, GGUF file or ONNX export, or hf:owner/name[:file][@revision] to download ' +
      'one; ' +
      'with --random-weights also a preset or config.json',
    schema: z.string().min(1).optional(),
    defaultText: 'the embedded model, summit',
  },
  adapter: {
    flags: '--adapter <folder>',
    description:
      'LoRA adapter, as PEFT stores it, or hf:owner/name[@revision], that is merged into the model when it is built: no cost afterwards',
    schema: z.string().min(1).optional(),
  },
  loraModules: {
    flags: '--lora-modules <name=folder>',
    description:
      'LoRA adapters that requests pick as their model, each a folder or hf:owner/name[@revision]; may be repeated',
    schema: assignments.optional(),
    isRepeatable: true,
  },
  loraDir: {
    flags: '--lora-dir <folder>',
    description: 'where /v1/load_lora_adapter finds adapters; without it there are no others',
    schema: z.string().min(1).optional(),
  },
  maxLoras: {
    flags: '--max-loras <n>',
    description: 'different LoRA adapters in one step',
    schema: count(1).pipe(z.int().max(64)),
    default: 4,
  },
  maxLoraRank: {
    flags: '--max-lora-rank <n>',
    description: 'largest rank of a LoRA adapter that requests pick',
    schema: count(1).pipe(z.int().max(512)),
    default: 16,
  },
  maxCpuLoras: {
    flags: '--max-cpu-loras <n>',
    description: 'LoRA adapters that are kept in memory',
    schema: count(1).optional(),
    defaultText: 'as --max-loras',
  },
  servedModelName: {
    flags: '--served-model-name <name>',
    description: 'what clients call the model',
    schema: z.string().min(1).optional(),
    defaultText: "the folder's name",
  },
  randomWeights: {
    flags: '--random-weights <seed>',
    description: 'random weights from this seed, for tests and benchmarks',
    schema: count(0).optional(),
  },
  precision: {
    flags: '--precision <name>',
    description: `number format of the weights: auto, ${PRECISIONS.join(', ')}; int8 and int8-static are for CPUs, and GPUs compute fp16 and int4 in float16`,
    schema: z.enum(['auto', ...PRECISIONS]),
    default: 'auto',
  },
  calibrate: {
    flags: '--calibrate <file>',
    description:
      'texts that --precision int8-static finds scales with, a text or JSON lines of {"text"}',
    schema: z.string().min(1).optional(),
    defaultText: 'the model writes its own',
  },
  kvCacheDtype: {
    flags: '--kv-cache-dtype <name>',
    description:
      'number format of the KV cache: auto, float32, float16 (CPU, with our own kernels) or int8 (CPU)',
    schema: z.enum(['auto', 'float32', 'float16', 'int8']),
    default: 'auto',
  },
  kernels: {
    flags: '--kernels <name>',
    description:
      'whose products and attention run on a CPU: native (our own, for int8 and int4), onnxruntime, or auto, which is native where there are any',
    schema: z.enum(['auto', 'native', 'onnxruntime']),
    default: 'auto',
  },
  attention: {
    flags: '--attention <name>',
    description:
      'layout of the KV cache: slots (contiguous memory for each sequence), paged (PagedAttention; GPUs that compute in float16) or auto (slots)',
    schema: z.enum(['auto', 'slots', 'paged']),
    default: 'auto',
  },
  device: {
    flags: '--device <name>',
    description: 'where the model runs: auto, cpu, webgpu, cuda or tensorrt',
    schema: z.enum(['auto', 'cpu', 'webgpu', 'cuda', 'tensorrt']),
    default: 'auto',
  },
  deviceId: {
    flags: '--device-id <n>',
    description: 'index among several devices of that kind',
    schema: count(0),
    default: 0,
  },
  providerOption: {
    flags: '--provider-option <key=value>',
    description: 'setting of the ONNX Runtime execution provider; may be repeated',
    schema: assignments.optional(),
    isRepeatable: true,
  },
  providerLibrary: {
    flags: '--provider-library <device=path>',
    description: 'plugin library with the execution provider of a device; may be repeated',
    schema: assignments.optional(),
    isRepeatable: true,
  },
  graphCapture: {
    flags: '--graph-capture',
    description: 'record decode runs and replay them (WebGPU); no GPU has been measured yet',
    schema: z.boolean().optional(),
  },
  threads: {
    flags: '--threads <n>',
    description:
      'CPU threads of the model; 0 takes one per physical core, within the quota of a container',
    schema: count(0),
    default: 0,
  },
} satisfies Record<string, FlagSpec>;
