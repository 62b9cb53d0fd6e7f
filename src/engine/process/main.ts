/** The engine process: commands in by IPC, one message out per iteration. */
import { GrammarError } from '../../grammar/grammar-spec.ts';
import { ortEnvironment } from '../../ort/environment.ts';
import { DeviceError } from '../gpu/device-error.ts';
import type { Engine } from '../engine.ts';
import type { BlockLog } from '../kv-cache/block-log.ts';
import type { PrefixTier } from '../prefix-tier/prefix-tier.ts';
import type { EngineRequest, TokenOutput } from '../request.ts';
import type { EngineCommand, EngineMessage, EngineOptions } from './protocol.ts';
import { openEngine } from './open-engine.ts';
import { toStepMessage } from './step-message.ts';
import { reasonOf } from '../../files/system-error.ts';

const commands: EngineCommand[] = [];
/** Answers to requests that the engine would not take; they go out with the next message. */
const rejected: TokenOutput[] = [];
/** Requests whose grammars are being compiled, or whose prefixes are being read. */
const preparing = new Set<number>();
let engine: Engine | undefined;
let hasAdapters = false;
let blockLog: BlockLog | null = null;
let tier: PrefixTier | null = null;
let looping = false;
/** Work for when there is no other; it says whether some of it is left. Null once it is done. */
let settle: ((ms: number) => boolean) | null = null;
/** The next of it; at most one is waiting, whatever commands come in. */
let resting: NodeJS.Immediate | undefined;
/** Milliseconds of it, which a request may have to wait for. */
const SETTLING_MS = 2;

process.on('message', receive);
// If the device is lost or out of memory, the process ends, and a new one starts.
process.on('uncaughtException', (error) => {
  if (!(error instanceof DeviceError)) console.error(error);
  engine = undefined;
  if (!process.connected) process.exit(1);
  process.send?.({ type: 'dying', message: reasonOf(error) }, () => process.exit(1));
});

function receive(command: EngineCommand): void {
  commands.push(command);
  wake();
}

function wake(): void {
  if (looping) return;
  looping = true;
  iterate();
}

/** The loop keeps running meanwhile. Never rejects. */
async function addOncePrepared(request: EngineRequest): Promise<void> {
  const { id, grammar } = request;
  preparing.add(id);
  try {
    if (!engine) throw new Error('the engine is not started');
    if (grammar) await engine.compileGrammar(grammar);
    if (preparing.has(id)) await tier?.fetch(request);
    // Otherwise it was aborted meanwhile.
    if (!preparing.delete(id)) return;
    add(request);
    wake();
  } catch (error) {
    if (!preparing.delete(id)) return;
    reject(id, error);
    wake();
  }
}

/** Drain commands, one step, post; again once the event loop has read what came in meanwhile. */
function iterate(): void {
  for (const command of commands.splice(0)) handle(command);
  looping = false;
  if (!engine) return;
  const outputs = [...rejected.splice(0), ...engine.step()];
  const blocks = blockLog?.drain() ?? [];
  if (blocks.length > 0) post({ type: 'blocks', events: blocks });
  post(toStepMessage(outputs, engine.stats, engine.takeRecord(), tier?.stats));
  if (!engine.hasWork) return restSoon();
  looping = true;
  setImmediate(iterate);
}

function restSoon(): void {
  clearImmediate(resting);
  resting = setImmediate(rest);
}

/** A little of what can be done without requests, until one comes. */
function rest(): void {
  if (looping || settle === null) return;
  if (settle(SETTLING_MS)) restSoon();
  else settle = null;
}

function handle(command: EngineCommand): void {
  switch (command.type) {
    case 'prepare':
      prepare(command.threads);
      break;
    case 'start':
      start(command.options, command.sharedMemoryFd);
      break;
    case 'resume':
      for (const request of engine?.adopt(command.requests.map(withOwnPrefixes)) ?? []) {
        accept(request);
      }
      break;
    case 'add':
      for (const request of command.requests) accept(withOwnPrefixes(request));
      break;
    case 'abort':
      for (const id of command.ids) abort(id);
      break;
    case 'inspect':
      post({ type: 'slots', slots: engine?.slots ?? [] });
      break;
    case 'watch':
      engine?.watch(command.every);
      break;
    case 'shutdown':
      void end();
  }
}

/** Loads ONNX Runtime early. A failure is ignored here: it comes again at `start`, which reports it. */
function prepare(threads: number): void {
  try {
    ortEnvironment(threads);
  } catch {}
}

function start(options: EngineOptions, sharedMemoryFd: number | null): void {
  try {
    const opened = openEngine(options, sharedMemoryFd);
    ({ engine, blocks: blockLog, tier, settle } = opened);
    hasAdapters = options.adapters !== undefined;
    post({ type: 'ready', info: opened.info });
  } catch (error) {
    post({ type: 'failed', message: reasonOf(error) });
  }
}

/**
 * Cached keys and values depend on the adapter, so it becomes part of the salt: as JSON, no other
 * request's salt equals it.
 */
function withOwnPrefixes(request: EngineRequest): EngineRequest {
  if (!hasAdapters) return request;
  const { cacheSalt, adapter } = request;
  const salt = [cacheSalt, adapter?.id ?? null, adapter?.scale ?? null];
  return { ...request, cacheSalt: JSON.stringify(salt) };
}

/** Whoever asked for it ends the process if that takes too long. */
async function end(): Promise<void> {
  await tier?.settle();
  process.exit(0);
}

/** A request joins once its grammar is compiled, and what is kept of its prompt beyond the KV cache is read. */
function accept(request: EngineRequest): void {
  if (request.grammar || tier) void addOncePrepared(request);
  else add(request);
}

function abort(id: number): void {
  preparing.delete(id);
  tier?.forget(id);
  engine?.abort(id);
}

function add(request: EngineRequest): void {
  try {
    if (!engine) throw new Error('the engine is not started');
    engine.add(request);
  } catch (error) {
    reject(request.id, error);
  }
}

function reject(id: number, error: unknown): void {
  tier?.forget(id);
  const isOfGrammar = error instanceof GrammarError;
  const message = reasonOf(error);
  rejected.push({ id, tokenId: -1, finishReason: 'error', error: message, isOfGrammar });
}

function post(message: EngineMessage): void {
  process.send?.(message);
}
