import { standInForBinaryAt } from '../files/stand-in.ts';
import { buildEncoder } from '../model/encoder/build-encoder.ts';
import { type EncoderFolder, inspectEncoderFolder } from '../model/encoder/encoder-folder.ts';
import type { EncoderKind } from '../model/encoder/encoder-kind.ts';
import { TOKEN_VECTORS } from '../model/encoder/encoder-graph.ts';
import { WORD_WEIGHTS } from '../model/encoder/output-heads.ts';
import { buildHeadGraph } from '../model/encoder/sentence-head.ts';
import { buildImageTower } from '../model/dual/build-image-tower.ts';
import { inspectDual } from '../model/dual/dual-folder.ts';
import { readAlignment } from '../model/speech/alignment-config.ts';
import { buildAlignment, buildSpeech } from '../model/speech/build-speech.ts';
import { inspectSpeech } from '../model/speech/speech-folder.ts';
import { buildVision } from '../model/vision/build-vision.ts';
import { inspectVision } from '../model/vision/vision-folder.ts';
import { Session } from '../ort/session.ts';
import { BatchRunner } from './batch-runner.ts';
import { calibrateEncoder } from './calibrate-encoder.ts';
import { calibrateImages, calibrateVision } from './calibrate-vision.ts';
import { openGraph } from './open-graph.ts';
import type { EncoderInfo, EncoderSource } from './process/protocol.ts';
import { signatureOf, TensorBatch } from './tensor-batch.ts';
import { TextBatch, type TextGraphs } from './text-batch.ts';
import { exportFeed, packedFeed } from './token-feeds.ts';
import type { GraphSignature } from './tensors/signature.ts';

export interface OpenedEncoder extends Pick<EncoderInfo, 'signature' | 'text' | 'maxBytes'> {
  readonly runner: BatchRunner;
}

const WARM_UP_TOKENS = 32;

type TextSource = Extract<EncoderSource, { type: 'text' }>;
type ImagesSource = Extract<EncoderSource, { type: 'images' }>;
type SpeechSource = Extract<EncoderSource, { type: 'speech' }>;
type AlignmentSource = Extract<EncoderSource, { type: 'alignment' }>;
type VisionSource = Extract<EncoderSource, { type: 'vision' }>;

/**
 * Signature of a text encoder: texts and vectors do not go through the graph's own inputs and outputs.
 */
const TEXTS: GraphSignature = { inputs: [], outputs: [], isBatched: true };

/**
 * Loads a model without state; a text encoder's graph is built first if it has to be.
 * @throws Error when it can't be loaded, or served
 */
export async function openEncoder(source: EncoderSource, threads: number): Promise<OpenedEncoder> {
  switch (source.type) {
    case 'text':
      return openTextEncoder(source, threads);
    case 'vision':
      return openTower(source, threads);
    case 'speech':
      return openSpeech(source, threads);
    case 'alignment':
      return openAlignment(source, threads);
    case 'images':
      return openImages(source, threads);
    case 'graph':
      await requireGraph(source.path);
      return openTensors(source.path, source.isBatched, threads);
  }
}

async function openTensors(
  path: string,
  isBatched: boolean | null,
  threads: number,
): Promise<OpenedEncoder> {
  const { session, maxBytes } = await openGraph(path, threads);
  const signature = signatureOf(session, isBatched);
  const runner = new BatchRunner(new TensorBatch(session, signature));
  return { runner, signature, text: null, maxBytes };
}

async function openTower(
  { path, mmproj, hiddenSize, precision, cacheDirectory }: VisionSource,
  threads: number,
): Promise<OpenedEncoder> {
  const part = await inspectVision(path, hiddenSize, mmproj);
  if (part === null) throw new Error(`${path} is not of a model that sees`);
  const options = { precision, cacheDirectory, calibrate: calibrateVision };
  // A grid is one image, and tiles are a batch.
  const isBatched = part.config.shape.kind !== 'grid';
  return openTensors(await buildVision(part, options), isBatched, threads);
}

async function openSpeech(
  { path, cacheDirectory }: SpeechSource,
  threads: number,
): Promise<OpenedEncoder> {
  const part = await inspectSpeech(path);
  if (part === null) throw new Error(`${path} is not of a model that hears`);
  return openTensors(await buildSpeech(part, cacheDirectory), true, threads);
}

async function openAlignment(
  { path, cacheDirectory }: AlignmentSource,
  threads: number,
): Promise<OpenedEncoder> {
  const [part, shape] = [await inspectSpeech(path), await readAlignment(path)];
  if (part === null || shape === null) throw new Error(`${path} does not tell when words are said`);
  return openTensors(await buildAlignment(part, shape, cacheDirectory), false, threads);
}

async function openImages(
  { folder, precision, cacheDirectory }: ImagesSource,
  threads: number,
): Promise<OpenedEncoder> {
  const images = await inspectDual(folder);
  if (images === null) throw new Error(`${folder} is not of a model with a tower for images`);
  const options = { precision, cacheDirectory, calibrate: calibrateImages };
  return openTensors(await buildImageTower(images, options), true, threads);
}

async function openTextEncoder(source: TextSource, threads: number): Promise<OpenedEncoder> {
  const prefer = source.precision === 'int8' ? 'weights' : 'export';
  const folder = await inspectEncoderFolder(source.folder, prefer);
  const { graphs, dim, tokenDim } = await openGraphs(folder, source, threads);
  const runner = new BatchRunner(new TextBatch(graphs));
  warmUp(runner, folder);
  return { runner, signature: TEXTS, text: { kind: folder.kind, dim, tokenDim }, maxBytes: null };
}

/**
 * Runs a text once: so weights are in memory before the first request, and a model that can't run is
 * not ready.
 * @throws Error when the run fails
 */
function warmUp(runner: BatchRunner, { facts, maxTokens, kind }: EncoderFolder): void {
  const ids = new Int32Array(Math.min(WARM_UP_TOKENS, maxTokens)).fill(facts.padTokenId);
  const wantsTokens = kind === 'late';
  runner.run([{ type: 'tokens', ids, secondStart: ids.length, wantsTokens }], ([outcome]) => {
    if (outcome?.type === 'failed') throw new Error(outcome.message);
  });
}

async function openGraphs(
  folder: EncoderFolder,
  { precision, cacheDirectory }: TextSource,
  intraOpThreads: number,
): Promise<{ graphs: TextGraphs; dim: number; tokenDim: number | null }> {
  const { graph, modules, kind, facts } = folder;
  if (graph.type === 'weights') {
    const path = await buildEncoder(
      { modules, graph },
      { precision, cacheDirectory, calibrate: calibrateEncoder },
    );
    const session = new Session(path, { intraOpThreads });
    const output = OWN_OUTPUTS[kind];
    const feed = packedFeed(graph.config);
    const isPooled = kind === 'embedding' && graph.config.head === null;
    const tokens = isPooled || kind === 'late' ? TOKEN_VECTORS : null;
    const tokenDim = tokens === null ? null : lastDim(session, tokens);
    const graphs = { session, feed, output, tokens, head: null, isSparse: kind === 'sparse' };
    return { graphs, dim: lastDim(session, output), tokenDim };
  }
  await requireGraph(graph.file);
  const session = new Session(graph.file, { intraOpThreads });
  const feed = exportFeed(session, facts.padTokenId);
  const output = vectorOutput(session, kind);
  const isPooled = session.outputs.find(({ name }) => name === output)?.shape.length === 2;
  if (isPooled) {
    const graphs = { session, feed, output, tokens: null, head: null, isSparse: false };
    return { graphs, dim: lastDim(session, output), tokenDim: null };
  }
  const tokenDim = lastDim(session, output);
  const head = await buildHeadGraph(modules, tokenDim);
  const headSession = new Session(head.toBytes(), { intraOpThreads });
  const graphs = { session, feed, output, tokens: output, head: headSession, isSparse: false };
  return { graphs, dim: lastDim(headSession, 'embedding'), tokenDim };
}

/** @throws Error when something else is in a graph's place, in words that ONNX Runtime does not have */
async function requireGraph(path: string): Promise<void> {
  const other = await standInForBinaryAt(path);
  if (other !== null) throw new Error(`${path} ${other}`);
}

/** Outputs of the graphs that we build. */
const OWN_OUTPUTS: Readonly<Record<EncoderKind, string>> = {
  embedding: 'embedding',
  reranker: 'logits',
  sparse: WORD_WEIGHTS,
  late: TOKEN_VECTORS,
};

/** Vectors of tokens go first: the folder says how they become a vector of the text. */
const VECTOR_OUTPUTS: Readonly<Record<EncoderKind, readonly string[]>> = {
  embedding: ['last_hidden_state', 'token_embeddings', 'sentence_embedding', 'embedding'],
  reranker: ['logits', 'scores'],
  sparse: [],
  late: [],
};

function vectorOutput({ outputs }: Session, kind: EncoderKind): string {
  const known = VECTOR_OUTPUTS[kind];
  const found = known.find((name) => outputs.some((output) => output.name === name));
  if (found !== undefined) return found;
  const names = outputs.map(({ name }) => name).join(', ');
  throw new Error(`the encoder has no output ${known.join(', ')}, only ${names}`);
}

function lastDim({ outputs }: Session, output: string): number {
  const size = outputs.find(({ name }) => name === output)?.shape.at(-1);
  if (typeof size !== 'number') throw new Error(`the output "${output}" has no width of its own`);
  return size;
}
