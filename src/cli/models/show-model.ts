/** Describes a model by its files, for `chairlift show`. */
import { relative, resolve } from 'node:path';
import { chatFormatOf } from '../../front/chat/chat-format.ts';
import { inspectVision } from '../../model/vision/vision-folder.ts';
import { towerParameters } from '../../model/vision/tower-size.ts';
import type { VisionConfig } from '../../model/vision/vision-part.ts';
import type { ChatTemplate } from '../../front/templates/chat-template.ts';
import type { ToolCallFormat } from '../../front/tool-calls/formats.ts';
import { loadTextModel } from '../../front/prompts/load-text-model.ts';
import { matrixTypes } from '../../model/compare/matrix-types.ts';
import { type EncoderFolder, inspectEncoderFolder } from '../../model/encoder/encoder-folder.ts';
import type { ExportFolder } from '../../model/export/export-folder.ts';
import { inspectModelFolder, type ModelFolder } from '../../model/folder/model-folder.ts';
import { stateSize } from '../../model/graph/decoder-states.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import { countParameters } from '../../model/huggingface/parameter-count.ts';
import { graphFileOf, kindOf } from '../../serving/loading/encoder-loader.ts';
import { readGraphInterface } from './graph-interface.ts';
import { inspectSpeech } from '../../model/speech/speech-folder.ts';
import { textFolderOf } from '../../serving/models/model-source.ts';
import { formatBytes, formatCount } from '../terminal/text-format.ts';
import { samplingInWords } from '../terminal/sampling-words.ts';

type Row = readonly [label: string, value: string];

/** @param source a folder, or a GGUF file @throws ModelError, TokenizerError */
export async function describeModel(source: string): Promise<string> {
  const rows = await rowsOf(source);
  return rows.map(([label, value]) => `  ${label.padEnd(14)} ${value}`).join('\n');
}

async function rowsOf(source: string): Promise<readonly Row[]> {
  switch (await kindOf(source)) {
    case 'text':
      return decoderRows(await inspectModelFolder(source));
    case 'encoder':
      return encoderRows(await inspectEncoderFolder(source));
    case 'tensors':
      return graphRows(resolve(source));
  }
}

const KINDS = { huggingface: 'Hugging Face checkpoint', gguf: 'GGUF model' } as const;

async function decoderRows(folder: ModelFolder): Promise<Row[]> {
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
  return [
    [folder.kind === 'gguf' ? 'file' : 'folder', folder.path],
    ...(folder.kind === 'export'
      ? [['kind', `ONNX export, ${folder.config.family}`] as const]
      : await checkpointRows(folder)),
    ['context', `${config.maxPositionEmbeddings} tokens`],
    ['vocabulary', `${config.vocabSize} tokens`],
    ['chat template', template === null ? 'none' : 'yes'],
    ...(await imageRows(folder)),
    ...(await speechRows(folder)),
    ['tool calls', toolCalls === null ? 'no' : callsOf(toolCalls, text.chatTemplate)],
    ['thinking', reasoning === null ? 'no' : `yes, as ${reasoning.names[0]}`],
    ['sampling', samplingInWords(text.generationDefaults)],
    ...text.warnings.map((warning) => ['warning', warning] as const),
  ];
}

/** None of a model that takes text alone. */
async function imageRows({ kind, path, config }: ModelFolder): Promise<Row[]> {
  const vision = kind === 'export' ? null : await inspectVision(path, config.hiddenSize);
  if (vision === null) return [];
  const size = formatCount(towerParameters(vision.config.shape));
  return [['images', `yes, ${tokensInWords(vision.config)}; tower of ${size} parameters`]];
}

/** None of a model that takes no speech. */
async function speechRows({ kind, path }: ModelFolder): Promise<Row[]> {
  const speech = kind === 'export' ? null : await inspectSpeech(path);
  if (speech === null) return [];
  const { numMels, numFrames, numPositions } = speech.shape;
  return [['speech', `yes, windows of ${numFrames} frames of ${numMels} mels; ${numPositions} positions each`]];
}

function tokensInWords(config: VisionConfig): string {
  if (config.kind === 'square') {
    return `squares of ${config.cutting.side} pixels, ${config.tokensPerTile} tokens each`;
  }
  if (config.kind === 'tiles' || config.kind === 'canvas' || config.kind === 'anyres') {
    return `tiles of ${config.cutting.tileSide} pixels, ${config.tokensPerTile} tokens each`;
  }
  const { patchSide, merge } = config.cutting;
  const side = patchSide * merge;
  if (config.kind === 'lines') {
    const { longestEdge, maxCells } = config.cutting;
    const most = Math.min(maxCells, Math.ceil(longestEdge / side) ** 2);
    return `a token for ${side} x ${side} pixels, up to ${most}`;
  }
  const { maxPixels } = config.cutting;
  return `a token for ${side} x ${side} pixels, up to ${Math.floor(maxPixels / side ** 2)}`;
}

/** By the names that the flags have for formats. */
function callsOf({ names }: ToolCallFormat, template: ChatTemplate | null): string {
  const place = template?.knowsTools === true ? '' : ', described in the system message';
  return `yes, as ${names[0]}${place}`;
}

async function checkpointRows(folder: Exclude<ModelFolder, ExportFolder>): Promise<Row[]> {
  const { kind, config } = folder;
  const types = await typesOf(folder);
  return [
    ['kind', [KINDS[kind], config.family.modelType, ...fileTypeOf(folder)].join(', ')],
    ['parameters', formatCount(countParameters(config))],
    ['layers', layersOf(config)],
    ['weights', weightsOf(folder)],
    ['matrices', types],
  ];
}

/** How many there are, and how many of them have states. */
function layersOf(config: DecoderConfig): string {
  const numStates = config.recurrence?.layers.filter(Boolean).length ?? 0;
  if (numStates === 0) return String(config.numLayers);
  const where = config.recurrence?.isBesideAttention ? 'beside' : 'in place of';
  return `${config.numLayers}, ${numStates} of them with states ${where} attention, ${stateSize(config)} values together`;
}

function fileTypeOf(folder: Exclude<ModelFolder, ExportFolder>): string[] {
  return folder.kind === 'gguf' ? [folder.fileType] : [];
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

const USES = {
  embedding: 'embeddings',
  reranker: 'scores of pairs of texts',
  sparse: 'weights of words',
  late: 'vectors of tokens, and scores of pairs of texts by these',
} as const;

async function encoderRows(encoder: EncoderFolder): Promise<Row[]> {
  const { path, kind, facts, modules, graph, maxTokens, weightBytes } = encoder;
  const { prompts, pooling } = modules;
  const promptNames = Object.keys(prompts);
  return [
    ['folder', path],
    ['kind', `text encoder, ${facts.modelType}`],
    ['use', USES[kind]],
    ['weights', `${formatBytes(weightBytes)}, ${graphOf(encoder)}`],
    ...(graph.type === 'weights'
      ? ([
          ['layers', String(graph.config.layers.length)],
          ['width', String(graph.config.hiddenSize)],
        ] as const)
      : []),
    ...(kind === 'embedding' ? [['pooling', pooling.join(' and ')] as const] : []),
    ['context', `${maxTokens} tokens`],
    ...(facts.vocabSize === null ? [] : [['vocabulary', `${facts.vocabSize} tokens`] as const]),
    ...(promptNames.length === 0 ? [] : [['prompts', promptNames.join(', ')] as const]),
  ];
}

function graphOf({ path, graph }: EncoderFolder): string {
  return graph.type === 'weights' ? 'safetensors' : `ONNX export ${relative(path, graph.file)}`;
}

async function graphRows(path: string): Promise<Row[]> {
  const file = graphFileOf(path);
  const { inputs, outputs } = await readGraphInterface(file);
  return [
    ['folder', path],
    ['kind', 'ONNX graph, tensors in and out'],
    ...inputs.map((input): Row => ['input', input]),
    ...outputs.map((output): Row => ['output', output]),
  ];
}
