/** Commands about models on this machine: pull, list, show, rm. */
import { Command } from 'commander';
import { createInterface } from 'node:readline/promises';
import { chatFormatOf } from '../front/chat/chat-format.ts';
import { loadTextModel } from '../front/text/load-text-model.ts';
import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { removeCachedModel } from '../model/hub/hub-cache.ts';
import { parseHubReference } from '../model/hub/hub-repository.ts';
import type { ExportFolder } from '../model/export/export-folder.ts';
import { matrixTypes } from '../model/compare/matrix-types.ts';
import { inspectModelFolder, type ModelFolder } from '../model/huggingface/model-folder.ts';
import { countParameters } from '../model/huggingface/parameter-count.ts';
import { DEVICE_OPTIONS } from './device.ts';
import { localModelFolder } from './download-model.ts';
import { variantFor } from './export-variant.ts';
import { findModel, hubReferenceOf, localModels } from './local-models.ts';
import { textFolderOf } from './model-source.ts';
import { addOptions, readOptions } from './options.ts';
import { formatBytes, formatCount, formatTime, table } from './text-format.ts';
import { UsageError } from './usage-error.ts';

const KINDS = { huggingface: 'Hugging Face checkpoint', gguf: 'GGUF model' } as const;

/** `chairlift pull`: downloads a model ahead of its first use. */
export function pullCommand(): Command {
  const names = ['precision', ...DEVICE_OPTIONS] as const;
  const command = new Command('pull')
    .description('download a model of the hub into the cache, and print where it is')
    .argument('<model>', 'owner/name or hf:owner/name[@revision]');
  return addOptions(command, names).action(async (model: string) => {
    const options = readOptions<(typeof names)[number]>(command);
    console.log(await localModelFolder(requireHubModel(model), variantFor(options)));
  });
}

/** `chairlift list`: what could be served. */
export function listCommand(): Command {
  const command = new Command('list')
    .alias('ls')
    .description('list the models on this machine: embedded, downloaded, of a repository');
  return addOptions(command, ['modelRepository']).action(async () => {
    const { modelRepository } = readOptions<'modelRepository'>(command);
    const models = await localModels(modelRepository);
    const rows = models.map(({ name, place, bytes, modifiedAt }) => [
      name,
      place,
      formatBytes(bytes),
      `${formatTime(Date.now() - modifiedAt.getTime())} ago`,
    ]);
    console.log(table(['NAME', 'FROM', 'SIZE', 'MODIFIED'], rows));
  });
}

/** `chairlift show`: what a model is. */
export function showCommand(): Command {
  const command = new Command('show')
    .description('show what a model on this machine is')
    .argument('<model>', 'a folder, or a name that `chairlift list` shows');
  return addOptions(command, ['modelRepository']).action(async (model: string) => {
    const { modelRepository } = readOptions<'modelRepository'>(command);
    console.log(await describe(await findModel(model, modelRepository)));
  });
}

/** `chairlift rm`: removes what was downloaded. */
export function removeCommand(): Command {
  return new Command('rm')
    .description('remove a downloaded model from the cache')
    .argument('<model>', 'owner/name')
    .option('--yes', 'do not ask')
    .action(async (model: string, { yes = false }: { yes?: boolean }) => {
      const { id } = parseHubReference(requireHubModel(model));
      const cache = defaultCacheDirectory();
      const models = await localModels(undefined);
      const found = models.find(({ name, place }) => name === id && place === 'downloaded');
      if (found === undefined) throw new UsageError(`${id} has not been downloaded`);
      const what = `${id} (${formatBytes(found.bytes)})`;
      if (!yes && !(await confirm(`remove ${what} from ${cache}?`))) {
        throw new UsageError(`${id} was kept`);
      }
      await removeCachedModel(id, cache);
      console.log(`removed ${what}`);
    });
}

function requireHubModel(model: string): string {
  const reference = hubReferenceOf(model);
  if (reference !== null) return reference;
  throw new UsageError(`${model} is no model on the hub: expected owner/name`);
}

async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError('there is no terminal to ask on; use --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/** How the checkpoint has its layers, and what becomes of them. */
function weightsOf({ kind, config, stored }: Exclude<ModelFolder, ExportFolder>): string {
  const method = kind === 'gguf' ? 'GGUF' : config.quantization?.method.toUpperCase();
  if (stored === null) return method === undefined ? 'floats' : `${method}, computed as floats`;
  return `${[method, stored.description].filter(Boolean).join(', ')}, kept in ${stored.precision}`;
}

/** Such as `168 in Q4_K, 1 in Q6_K`. */
async function typesOf({ config, open }: Exclude<ModelFolder, ExportFolder>): Promise<string> {
  const weights = await open();
  try {
    const types = matrixTypes(config, weights);
    return types.map(([type, count]) => `${count} in ${type}`).join(', ');
  } finally {
    await weights.close();
  }
}

async function describe(path: string): Promise<string> {
  const folder = await inspectModelFolder(path);
  const { config } = folder;
  const text = await loadTextModel({
    folder: await textFolderOf(folder),
    vocabSize: config.vocabSize,
  });
  const template = text.chatTemplate?.text ?? null;
  const { toolCalls, reasoning } = chatFormatOf(template ?? '', {
    toolCallParser: 'auto',
    reasoningParser: 'auto',
  });
  const rows = [
    [folder.kind === 'gguf' ? 'file' : 'folder', folder.path],
    ...(folder.kind === 'export'
      ? [['kind', `ONNX export, ${folder.config.family}`]]
      : [
          ['kind', `${KINDS[folder.kind]}, ${folder.config.family.modelType}`],
          ['parameters', formatCount(countParameters(folder.config))],
          ['layers', String(folder.config.numLayers)],
          ['weights', weightsOf(folder)],
          ['matrices', await typesOf(folder)],
        ]),
    ['context', `${config.maxPositionEmbeddings} tokens`],
    ['vocabulary', `${config.vocabSize} tokens`],
    ['chat template', template === null ? 'none' : 'yes'],
    ['tool calls', toolCalls === null ? 'no' : 'yes'],
    ['thinking', reasoning ? 'yes' : 'no'],
  ];
  return rows.map(([label = '', value = '']) => `  ${label.padEnd(14)} ${value}`).join('\n');
}
