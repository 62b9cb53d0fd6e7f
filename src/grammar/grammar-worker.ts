/**
 * A thread that compiles grammars and matches generated tokens against them. WebAssembly can hang on
 * a hostile grammar and aborts on a wrong one; here it stops nobody, and can be ended from outside.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { CompiledGrammar, GrammarMatcher } from '@mlc-ai/web-xgrammar';
import type { GrammarVocabulary } from './grammar-spec.ts';
import {
  MASK_FAILED,
  MASK_OK,
  MASK_POSITION,
  MASK_STATE,
  MASK_WORDS,
  type SharedMask,
  type ThreadAnswer,
  type ThreadCommand,
} from './thread-messages.ts';
import { loadXGrammar, printed } from './xgrammar.ts';

/** Compiled grammars that are kept, the least recently used dropped first. */
const MAX_COMPILED = 64;

interface Matcher {
  readonly matcher: GrammarMatcher;
  readonly mask: Int32Array;
  numTokens: number;
}

const { tokens, vocabSize, eosTokenIds } = workerData as GrammarVocabulary;
const xgrammar = loadXGrammar();
const tokenizerInfo = await xgrammar.TokenizerInfo.createTokenizerInfo(
  [...tokens],
  'byte_level',
  false,
  vocabSize,
  [...eosTokenIds],
);
// Its own cache makes the compile after a failed one wait for ever.
const compiler = await xgrammar.GrammarCompiler.createGrammarCompiler(tokenizerInfo, false);
const compiled = new Map<string, CompiledGrammar>();
const matchers = new Map<number, Matcher>();

answer({ type: 'ready' });
let done = Promise.resolve();
parentPort?.on('message', (command: ThreadCommand) => {
  done = done.then(() => obey(command));
});

function answer(message: ThreadAnswer): void {
  parentPort?.postMessage(message, []);
}

/** Never rejects. */
async function obey(command: ThreadCommand): Promise<void> {
  switch (command.type) {
    case 'compile': {
      const error = await compile(command.ebnf).then(() => null, reasonOf);
      answer({ type: 'compiled', ebnf: command.ebnf, error });
      break;
    }
    case 'open':
      await open(command.id, command.ebnf, command.tokenIds, command.mask);
      break;
    case 'accept':
      for (const [id, tokenId] of command.tokens) await accept(id, tokenId);
      break;
    case 'close':
      matchers.get(command.id)?.matcher.dispose();
      matchers.delete(command.id);
      break;
  }
}

async function compile(ebnf: string): Promise<CompiledGrammar> {
  let entry = compiled.get(ebnf);
  if (entry === undefined) {
    printed.length = 0;
    const grammar = await xgrammar.Grammar.fromEBNF(ebnf);
    entry = await compiler.compileGrammar(grammar);
    grammar.dispose();
    await requireText(entry);
  }
  // Last in the map is the last used.
  compiled.delete(ebnf);
  compiled.set(ebnf, entry);
  for (const [oldest, dropped] of compiled) {
    if (compiled.size <= MAX_COMPILED) break;
    compiled.delete(oldest);
    dropped.dispose();
  }
  return entry;
}

/** Some grammars compile but match nothing, or hang when they are first asked. */
async function requireText(grammar: CompiledGrammar): Promise<void> {
  const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
  const mask = await matcher.getNextTokenBitmask();
  matcher.dispose();
  if (mask.every((word) => word === 0)) throw new Error('the grammar allows no text at all');
}

async function open(
  id: number,
  ebnf: string,
  tokenIds: Int32Array,
  { buffer }: SharedMask,
): Promise<void> {
  const mask = new Int32Array(buffer);
  try {
    const grammar = await compile(ebnf);
    const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
    const opened: Matcher = { matcher, mask, numTokens: 0 };
    matchers.set(id, opened);
    for (const tokenId of tokenIds) take(opened, tokenId);
    await publish(opened);
  } catch {
    publishFailure(mask, tokenIds.length);
  }
}

async function accept(id: number, tokenId: number): Promise<void> {
  const opened = matchers.get(id);
  if (opened === undefined) return;
  try {
    take(opened, tokenId);
    await publish(opened);
  } catch {
    publishFailure(opened.mask, opened.numTokens);
  }
}

function take(opened: Matcher, tokenId: number): void {
  opened.numTokens += 1;
  if (!opened.matcher.acceptToken(tokenId)) throw new Error(`token ${tokenId} was refused`);
}

async function publish({ matcher, mask, numTokens }: Matcher): Promise<void> {
  // Behind the end of the text nothing is sampled any more.
  if (matcher.isTerminated()) return;
  mask.set(await matcher.getNextTokenBitmask(), MASK_WORDS);
  announce(mask, MASK_OK, numTokens);
}

function publishFailure(mask: Int32Array, numTokens: number): void {
  announce(mask, MASK_FAILED, numTokens);
}

function announce(mask: Int32Array, state: number, numTokens: number): void {
  mask[MASK_STATE] = state;
  Atomics.store(mask, MASK_POSITION, numTokens);
  Atomics.notify(mask, MASK_POSITION);
}

/** The library's words, without its source files' names and the way it went down. */
function reasonOf(error: unknown): string {
  const said = printed.find((line) => line.includes('[FATAL]'));
  if (said === undefined) return error instanceof Error ? error.message : String(error);
  return said
    .replace(/^.*?\[FATAL\]\s*\S+:\d+:\s*/s, '')
    .replace(/^Check failed: \(.*?\) is (false|true): /s, '')
    .slice(0, 300);
}
