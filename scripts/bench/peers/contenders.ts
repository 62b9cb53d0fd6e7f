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
const portable = () => import('./contenders/chairlift.ts').then(({ openPortable }) => openPortable);
const python = (library: string) => () =>
  import('./contenders/python.ts').then(({ openWith }) => openWith(library));
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

/** Libraries over a real model in Q4_1; what libraries of Python make of it is in python_peers.py. */
export const REAL_ENTRIES: readonly Entry[] = [
  { name: 'chairlift fp32', precision: 'fp32', load: chairlift },
  { name: 'chairlift int8', precision: 'int8', load: chairlift },
  { name: 'chairlift int4', precision: 'int4', load: chairlift },
  { name: 'chairlift Q4_1 kept', precision: 'int4', load: portable },
  { name: 'node-llama-cpp Q4_1', precision: 'q4_0', load: llama },
  { name: 'openvino-genai Q4_1', precision: 'q4_0', load: python('openvino-genai') },
  { name: 'onnxruntime-genai int4', precision: 'int4', load: python('onnxruntime-genai') },
  { name: 'ctranslate2 int8', precision: 'int8', load: python('ctranslate2') },
  { name: 'Transformers fp32', precision: 'fp32', load: python('transformers') },
];
