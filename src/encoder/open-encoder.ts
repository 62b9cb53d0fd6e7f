import { standInForBinaryAt } from '../files/stand-in.ts';
import { buildEncoder } from '../model/encoder/build-encoder.ts';
import {
  type EncoderFolder,
  type EncoderKind,
  inspectEncoderFolder,
} from '../model/encoder/encoder-folder.ts';
import { TOKEN_VECTORS } from '../model/encoder/bert-graph.ts';
import { buildHeadGraph } from '../model/encoder/sentence-head.ts';
import { Session } from '../ort/session.ts';
import { BatchRunner } from './batch-runner.ts';
import { calibrateEncoder } from './calibrate-encoder.ts';
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

/**
 * Signature of a text encoder: texts and vectors do not go through the graph's own inputs and outputs.
 */
const TEXTS: GraphSignature = { inputs: [], outputs: [], isBatched: true };

/**
 * Loads a model without state; a text encoder's graph is built first if it has to be.
 * @throws Error when it can't be loaded, or served
 */
export async function openEncoder(source: EncoderSource, threads: number): Promise<OpenedEncoder> {
  if (source.type === 'text') return openTextEncoder(source, threads);
  await requireGraph(source.path);
  const { session, maxBytes } = await openGraph(source.path, threads);
  const signature = signatureOf(session, source.isBatched);
  return {
    runner: new BatchRunner(new TensorBatch(session, signature)),
    signature,
    text: null,
    maxBytes,
  };
}

async function openTextEncoder(source: TextSource, threads: number): Promise<OpenedEncoder> {
  const prefer = source.precision === 'int8' ? 'weights' : 'export';
  const folder = await inspectEncoderFolder(source.folder, prefer);
  const { graphs, dim, tokenDim } = await openGraphs(folder, source, threads);
  const runner = new BatchRunner(new TextBatch(graphs));
  warmUp(runner, folder.facts.padTokenId, folder.maxTokens);
  return { runner, signature: TEXTS, text: { kind: folder.kind, dim, tokenDim }, maxBytes: null };
}

/**
 * Runs a text once: so weights are in memory before the first request, and a model that can't run is
 * not ready.
 * @throws Error when the run fails
 */
function warmUp(runner: BatchRunner, tokenId: number, maxTokens: number): void {
  const ids = new Int32Array(Math.min(WARM_UP_TOKENS, maxTokens)).fill(tokenId);
  runner.run([{ type: 'tokens', ids, secondStart: ids.length }], ([outcome]) => {
    if (outcome?.type === 'failed') throw new Error(outcome.message);
  });
}

async function openGraphs(
  folder: EncoderFolder,
  { precision, cacheDirectory }: TextSource,
  intraOpThreads: number,
): Promise<{ graphs: TextGraphs; dim: number; tokenDim: number | null }> {
  const { graph, modules, kind, facts } = folder;
  const isReranker = kind === 'reranker';
  if (graph.type === 'weights') {
    const path = await buildEncoder(
      { modules, graph },
      { precision, cacheDirectory, calibrate: calibrateEncoder },
    );
    const session = new Session(path, { intraOpThreads });
    const output = isReranker ? 'logits' : 'embedding';
    const feed = packedFeed(graph.config);
    const tokens = isReranker ? null : TOKEN_VECTORS;
    const tokenDim = isReranker ? null : graph.config.hiddenSize;
    const graphs = { session, feed, output, tokens, head: null };
    return { graphs, dim: lastDim(session, output), tokenDim };
  }
  await requireGraph(graph.file);
  const session = new Session(graph.file, { intraOpThreads });
  const feed = exportFeed(session, facts.padTokenId);
  const output = vectorOutput(session, kind);
  const isPooled = session.outputs.find(({ name }) => name === output)?.shape.length === 2;
  if (isPooled) {
    const graphs = { session, feed, output, tokens: null, head: null };
    return { graphs, dim: lastDim(session, output), tokenDim: null };
  }
  const tokenDim = lastDim(session, output);
  const head = await buildHeadGraph(modules, tokenDim);
  const headSession = new Session(head.toBytes(), { intraOpThreads });
  const graphs = { session, feed, output, tokens: output, head: headSession };
  return { graphs, dim: lastDim(headSession, 'embedding'), tokenDim };
}

/** @throws Error when something else is in a graph's place, in words that ONNX Runtime does not have */
async function requireGraph(path: string): Promise<void> {
  const other = await standInForBinaryAt(path);
  if (other !== null) throw new Error(`${path} ${other}`);
}

/** Vectors of tokens go first: the folder says how they become a vector of the text. */
const VECTOR_OUTPUTS: Readonly<Record<EncoderKind, readonly string[]>> = {
  embedding: ['last_hidden_state', 'token_embeddings', 'sentence_embedding', 'embedding'],
  reranker: ['logits', 'scores'],
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
