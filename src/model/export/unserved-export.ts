import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { fileExists } from '../../files/file-exists.ts';
import { GENAI_CONFIG, PARTS } from './export-folder.ts';
import { genaiFilesBelow, list } from './genai-folders.ts';

/** Decoders as older releases of Optimum wrote them: with and without a cache in two graphs, or in one. */
const TWO_DECODERS = /^decoder(?:_with_past)?_model(?:_merged)?(?:_\w+)?\.onnx$/;
const GRAPH = /\.onnx$/i;

/** Says what to name in place of a graph's file, as the rest of a sentence about it; null for other files. */
export async function insteadOfGraph(file: string): Promise<string | null> {
  if (!GRAPH.test(file)) return null;
  const folder = await exportAround(dirname(file));
  const name = folder === null ? 'the folder with its config.json or genai_config.json' : folder;
  return `is a graph of an ONNX export: name ${name} instead; --precision says which of several graphs is served`;
}

/**
 * Describes a folder that has ONNX graphs of which none is served, as the rest of a sentence about it.
 * @param names of what is in it
 * @returns null if it has none
 */
export async function describeUnserved(
  folder: string,
  names: readonly string[],
): Promise<string | null> {
  const inside = names.includes('onnx') ? await readdir(join(folder, 'onnx')).catch(() => []) : [];
  const described = describeGraphs([...names, ...inside.map((name) => `onnx/${name}`)]);
  if (described !== null && names.includes('config.json')) return described;
  const around = await exportAround(dirname(folder));
  if (described !== null) {
    return around === null
      ? described
      : `has graphs of an ONNX export only: name ${around} instead`;
  }
  const files = await genaiFilesBelow(folder);
  const below = [...new Set(files.map((file) => dirname(join(folder, file))))];
  return below.length === 0
    ? null
    : `has ONNX exports in folders below it: name one of ${list(below)}`;
}

/**
 * Describes the graphs among files, by their paths in a folder or a repository, as the rest of a sentence
 * about it that has none to serve.
 * @returns null if there are none
 */
export function describeGraphs(files: readonly string[]): string | null {
  const below = files.filter((file) => file.endsWith(`/${GENAI_CONFIG}`)).map(dirname);
  if (below.length > 0)
    return `has ONNX exports in folders of it (${list(below)}) that are not served`;
  const graphs = files.filter((file) => GRAPH.test(file));
  if (graphs.length === 0) return null;
  const are = (names: RegExp) => graphs.some((file) => names.test(basename(file)));
  if (are(PARTS)) {
    return `has an ONNX export in several parts (${list(graphs)}), which is not served: take safetensors of the model`;
  }
  if (are(TWO_DECODERS)) {
    return (
      `has an export by an older release of Optimum (${list(graphs)}), which is not served; this makes a new one: ` +
      'optimum-cli export onnx --model NAME --task text-generation-with-past FOLDER'
    );
  }
  if (!files.includes('config.json')) {
    return `has ONNX graphs (${list(graphs)}), but no config.json beside them`;
  }
  return `has no ONNX graph by a known name, such as model_q4.onnx, only ${list(graphs)}`;
}

/** A folder, or the one that it is in, if it is one of an export; null if neither is. */
async function exportAround(folder: string): Promise<string | null> {
  for (const each of [folder, dirname(folder)]) {
    for (const name of ['config.json', GENAI_CONFIG]) {
      if (await fileExists(join(each, name))) return each;
    }
  }
  return null;
}
