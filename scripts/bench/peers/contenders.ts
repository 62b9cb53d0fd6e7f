/** Everything that can be compared, by name. */
import type { OpenContender, Setup } from './contender.ts';

export interface Entry {
  readonly name: string;
  readonly precision: Setup['precision'];
  /** Loaded in the contender's own process. */
  readonly load: () => Promise<OpenContender>;
}

const chairlift = () => import('./contenders/chairlift.ts').then(({ open }) => open);
const chairliftStatic = () =>
  import('./contenders/chairlift.ts').then(({ openStatic }) => openStatic);
const chairliftRaw = () => import('./contenders/chairlift-raw.ts').then(({ open }) => open);
const llama = () => import('./contenders/node-llama-cpp.ts').then(({ open }) => open);
const ikLlama = (binary: string) => () =>
  import('./contenders/ik-llama-cpp.ts').then(({ openWith }) => openWith(binary));
const transformers = () => import('./contenders/transformers.ts').then(({ open }) => open);
const runLoop = () => import('./contenders/onnxruntime-node.ts').then(({ open }) => open);

/** It has no package: who wants it in the comparison builds it and says where it is. */
const ikLlamaBinary = process.env['IK_LLAMA_BATCHED_BENCH'];
const IK_LLAMA: readonly Entry[] = ikLlamaBinary
  ? [
      { name: 'ik_llama.cpp q8_0', precision: 'q8_0', load: ikLlama(ikLlamaBinary) },
      { name: 'ik_llama.cpp q4_0', precision: 'q4_0', load: ikLlama(ikLlamaBinary) },
    ]
  : [];

export const ENTRIES: readonly Entry[] = [
  { name: 'chairlift fp32', precision: 'fp32', load: chairlift },
  { name: 'chairlift int8', precision: 'int8', load: chairlift },
  { name: 'chairlift int4', precision: 'int4', load: chairlift },
  { name: 'chairlift raw int8', precision: 'int8', load: chairliftRaw },
  { name: 'chairlift raw int4', precision: 'int4', load: chairliftRaw },
  { name: 'chairlift static fp32', precision: 'fp32', load: chairliftStatic },
  { name: 'chairlift static int8', precision: 'int8', load: chairliftStatic },
  { name: 'node-llama-cpp q8_0', precision: 'q8_0', load: llama },
  { name: 'node-llama-cpp q4_0', precision: 'q4_0', load: llama },
  ...IK_LLAMA,
  { name: 'transformers.js fp32', precision: 'fp32', load: transformers },
  { name: 'transformers.js int8', precision: 'int8', load: transformers },
  { name: 'onnxruntime-node fp32', precision: 'fp32', load: runLoop },
];
