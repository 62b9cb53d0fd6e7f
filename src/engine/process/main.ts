/** The engine process: commands in by IPC, one message out per iteration. */
import { GrammarError, type GrammarSpec } from '../../grammar/grammar-spec.ts';
import { ortEnvironment } from '../../ort/environment.ts';
import { DeviceError } from '../gpu/device-error.ts';
import type { Engine } from '../engine.ts';
import type { BlockLog } from '../kv-cache/block-log.ts';
import type { EngineRequest, TokenOutput } from '../request.ts';
import type { EngineCommand, EngineMessage, EngineOptions } from './protocol.ts';
import { openEngine } from './open-engine.ts';
import { toStepMessage } from './step-message.ts';
import { reasonOf } from '../../files/system-error.ts';

const commands: EngineCommand[] = [];
/** Answers to requests that the engine would not take; they go out with the next message. */
const rejected: TokenOutput[] = [];
/** Requests whose grammars are being compiled. */
const compiling = new Set<number>();
let engine: Engine | undefined;
let hasAdapters = false;
let blockLog: BlockLog | null = null;
let looping = false;

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
async function addOnceCompiled(request: EngineRequest, grammar: GrammarSpec): Promise<void> {
  compiling.add(request.id);
  try {
    if (!engine) throw new Error('the engine is not started');
    await engine.compileGrammar(grammar);
    // Otherwise it was aborted meanwhile.
    if (!compiling.delete(request.id)) return;
    add(request);
    wake();
  } catch (error) {
    if (!compiling.delete(request.id)) return;
    reject(request.id, error);
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
  post(toStepMessage(outputs, engine.stats, engine.takeRecord()));
  if (!engine.hasWork) return;
  looping = true;
  setImmediate(iterate);
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
      process.exit(0);
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
    ({ engine, blocks: blockLog } = opened);
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

/** A request with a grammar joins once its grammar is compiled. */
function accept(request: EngineRequest): void {
  if (request.grammar) void addOnceCompiled(request, request.grammar);
  else add(request);
}

function abort(id: number): void {
  compiling.delete(id);
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
  const isOfGrammar = error instanceof GrammarError;
  const message = reasonOf(error);
  rejected.push({ id, tokenId: -1, finishReason: 'error', error: message, isOfGrammar });
}

function post(message: EngineMessage): void {
  process.send?.(message);
}
