/** Exports by ONNX Runtime GenAI's model builder in folders of a repository: one model, for several devices. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { told } from '../../told.ts';
import type { ActivationDtype, Precision } from '../manifest.ts';
import { ModelError } from '../model-error.ts';
import { SHARD_INDEX, SINGLE_FILE } from '../huggingface/safetensors.ts';
import {
  type ExportVariant,
  exportVariants,
  GENAI_CONFIG,
  type PickVariant,
  variantKey,
} from './export-folder.ts';

/** Folders below each other that are looked into: of a model, of a device, of a precision. */
const MAX_DEPTH = 3;
const MAX_LISTED = 4;
const MAX_CHARACTERS = 100;

/** Parts of a folder's name by which it is for a device, the preferred one first. Others are for a CPU as well. */
const DEVICES: readonly (readonly string[])[] = [
  ['cpu'],
  ['cuda'],
  ['gpu'],
  ['webgpu'],
  ['directml', 'dml'],
];
/** Graphs for one device alone, compiled or with operators of its own. */
const OTHER_DEVICES = [
  'npu',
  'qnn',
  'openvino',
  'vitisai',
  'ryzenai',
  'migraphx',
  'trt',
  'tensorrt',
  'rtx',
];
const PRECISIONS: readonly string[] = ['fp32', 'fp16', 'int8', 'int4'] satisfies Precision[];
/** Other words for the form of a model, and not for the model. */
const FORM_WORDS = new Set([
  ...[
    'and',
    'mobile',
    'web',
    'onnx',
    'rtn',
    'awq',
    'gptq',
    'kquant',
    'block',
    'acc',
    'level',
    'bf16',
  ],
  ...DEVICES.flat(),
  ...OTHER_DEVICES,
  ...PRECISIONS,
]);

/** End of the name of a folder that differs from another by the precision that its products compute in. */
const ACCURACY = /-acc-level-\d$/;

/** Whether a folder with such files, also those in its `onnx`, is a model: of safetensors, or an export. */
export function isServedFolder(names: readonly string[]): boolean {
  if (names.includes(GENAI_CONFIG)) return true;
  const hasWeights = names.includes(SINGLE_FILE) || names.includes(SHARD_INDEX);
  return names.includes('config.json') && (hasWeights || exportVariants(names).length > 0);
}

/**
 * Folders with an export that a graph can be served of, by the paths of all files: none where a part of it is
 * missing, or is for a device alone that is not supported.
 */
export function genaiFolders(names: readonly string[]): string[] {
  return [...byKey(names, dirname)].flatMap(([folder, files]) => {
    const has = (end: string) => files.some((name) => name.endsWith(end));
    const isExport = folder !== '.' && files.includes(`${folder}/${GENAI_CONFIG}`) && has('.onnx');
    const isDeep = folder.split('/').length > MAX_DEPTH;
    const isOther = wordsOf(folder).some((word) => OTHER_DEVICES.includes(word));
    return isExport && !has('.partial') && !isDeep && !isOther ? [folder] : [];
  });
}

/** Files of the folders below one that have a genai_config.json, with slashes. */
export async function genaiFilesBelow(
  folder: string,
  within = '',
  depth = MAX_DEPTH,
): Promise<string[]> {
  const entries = await readdir(join(folder, within), { withFileTypes: true }).catch(() => []);
  const names = entries.map(({ name }) => name).sort();
  if (within !== '' && names.includes(GENAI_CONFIG)) return names.map((name) => `${within}${name}`);
  if (depth === 0) return [];
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  const found: string[] = [];
  for (const name of folders.map((entry) => entry.name).sort()) {
    found.push(...(await genaiFilesBelow(folder, `${within}${name}/`, depth - 1)));
  }
  return found;
}

/**
 * Picks one of several such folders, if all are of one model: by the rules for an export's graphs, with the
 * precision that its name says; for a CPU before others; with 8-bit activations before without.
 * @param folders at least one
 * @param origin in messages
 * @param nameOf how a user names one
 * @throws {ModelError} if that leaves several, with what to name
 */
export async function pickGenaiFolder(
  folders: readonly string[],
  origin: string,
  nameOf: (folder: string) => string,
  pick: PickVariant = async ({ variants }) => variants[0] ?? { file: '' },
): Promise<string> {
  const [only = '', ...others] = folders;
  if (others.length === 0) return only;
  const isOneModel = new Set(folders.map(modelOf)).size === 1;
  const fitting = isOneModel ? await fittingFolders(folders, origin, pick) : folders;
  const [first = '', ...more] = fitting;
  if (more.length === 0) return first;
  throw new ModelError(
    `${origin} has several ONNX exports (${list(fitting)}): name one of them, as ${told(nameOf(first), 300)}`,
  );
}

async function fittingFolders(
  folders: readonly string[],
  path: string,
  pick: PickVariant,
): Promise<readonly string[]> {
  const ranked = folders.toSorted((a, b) => rankOf(a) - rankOf(b));
  const forms = byKey(ranked, (folder) => variantKey(formOf(folder)));
  const variants = [...forms.values()].map(([file = '']) => ({
    file,
    bytes: Infinity,
    ...formOf(file),
  }));
  const { file } = await pick({ path, config: { attentionSoftcap: null }, variants });
  return bestOf(forms.get(variantKey(formOf(file))) ?? []);
}

/**
 * Those for the preferred device; without those that another is as well, with 8-bit activations.
 * @param folders that for the preferred device first
 */
function bestOf(folders: readonly string[]): string[] {
  const rank = rankOf(folders[0] ?? '');
  const preferred = folders.filter((folder) => rankOf(folder) === rank);
  const better = new Set(preferred.filter((folder) => ACCURACY.test(folder)).map(withoutAccuracy));
  return preferred.filter((folder) => !better.has(folder));
}

function withoutAccuracy(folder: string): string {
  return folder.replace(ACCURACY, '');
}

function formOf(folder: string): Pick<ExportVariant, 'precision' | 'activationDtype'> {
  const words = wordsOf(folder);
  const isForGpu = rankOf(folder) > 0;
  const stated = PRECISIONS.find((each) => words.includes(each)) as Precision | undefined;
  const precision = stated ?? (isForGpu ? 'fp16' : 'int4');
  const isHalf = precision !== 'fp32' && (isForGpu || precision === 'fp16');
  const activationDtype: ActivationDtype = isHalf ? 'float16' : 'float32';
  return { precision, activationDtype };
}

function rankOf(folder: string): number {
  const words = wordsOf(folder);
  return Math.max(
    0,
    DEVICES.findIndex((names) => names.some((name) => words.includes(name))),
  );
}

/** Words of a folder's path for the model, and not for its form. */
function modelOf(folder: string): string {
  return wordsOf(folder)
    .filter((word) => !FORM_WORDS.has(word) && !/^\d+$/.test(word))
    .join('-');
}

function wordsOf(folder: string): string[] {
  return folder.toLowerCase().split(/[/_-]/);
}

/** Names in groups: a hub may list hundreds of thousands. */
export function byKey(
  names: readonly string[],
  keyOf: (name: string) => string,
): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const key = keyOf(name);
    const group = groups.get(key);
    if (group) group.push(name);
    else groups.set(key, [name]);
  }
  return groups;
}

/** The first few of some names, for a message. */
export function list(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_LISTED)
    .map((name) => told(name, MAX_CHARACTERS))
    .join(', ');
  return names.length > MAX_LISTED ? `${shown} and ${names.length - MAX_LISTED} more` : shown;
}
