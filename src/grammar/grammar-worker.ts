/**
 * A thread that compiles grammars and matches generated tokens against them. WebAssembly can hang
 * on a hostile grammar and aborts on a wrong one. Here it blocks nothing else, and can be ended
 * from outside.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { CompiledGrammar } from '@mlc-ai/web-xgrammar';
import { LIMITS } from '../limits.ts';
import { told } from '../told.ts';
import { BytePairs } from './byte-pairs.ts';
import { CountedMatcher, type TokenMatcher } from './counted-matcher.ts';
import { withDistinctEnds } from './distinct-ends.ts';
import { splitCounts } from './counted-text.ts';
import { CountedTokens } from './counted-tokens.ts';
import { forcedText } from './forced-text.ts';
import type { GrammarSource } from './grammar-source.ts';
import type { GrammarVocabulary } from './grammar-spec.ts';
import { sourceToEbnf } from './source-ebnf.ts';
import { SharedMatch, type SharedMatchData } from './shared-match.ts';
import type { ThreadAnswer, ThreadCommand } from './thread-messages.ts';
import { loadXGrammar, memory, printed } from './xgrammar.ts';

/** Compiled grammars that are kept, the least recently used dropped first. */
const MAX_COMPILED = 64;

interface Matcher {
  readonly matcher: TokenMatcher;
  readonly match: SharedMatch;
  numTokens: number;
  /** Text that is known to come next. */
  forced: string;
  /** It failed, and its position in the text is unknown. */
  isLost: boolean;
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
// With its own cache, the compile after a failed one would wait forever.
const compiler = await xgrammar.GrammarCompiler.createGrammarCompiler(tokenizerInfo, false);
const bytePairs = new BytePairs(tokens);
/** By grammar without its bounds. */
const compiled = new Map<string, CompiledGrammar>();
/** Made for the first grammar with bounds. */
let countedTokens: CountedTokens | null = null;
const matchers = new Map<number, Matcher>();

// The first compile takes several times as long, because code is generated: it counts for no
// grammar.
await compile(sourceToEbnf({ form: { kind: 'json_object' } }));
answer({ type: 'ready' });
let done = Promise.resolve();
parentPort?.on('message', (command: ThreadCommand) => {
  done = done.then(() => handle(command));
});

function answer(message: ThreadAnswer): void {
  parentPort?.postMessage(message, []);
}

/** Never rejects. */
async function handle(command: ThreadCommand): Promise<void> {
  switch (command.type) {
    case 'compile': {
      const { id, source } = command;
      const outcome = await compileSource(source).then(
        (ebnf) => ({ ebnf, error: null }),
        (error: unknown) => ({ ebnf: '', error: reasonOf(error) }),
      );
      answer({ type: 'compiled', id, ...outcome, memoryBytes: memory.bytes });
      break;
    }
    case 'open':
      await open(command.id, command.ebnf, command.tokenIds, command.match);
      break;
    case 'accept':
      await accept(command.tokens, command.looksAhead);
      break;
    case 'draft':
      await matchers
        .get(command.id)
        ?.match.work(() => publishBehind(command.id, command.number, command.tokenIds));
      break;
    case 'close':
      matchers.get(command.id)?.matcher.dispose();
      matchers.delete(command.id);
      answer({ type: 'closed' });
      break;
  }
}

async function compileSource(source: Pick<GrammarSource, 'form' | 'thought'>): Promise<string> {
  printed.length = 0;
  const ebnf = sourceToEbnf(source);
  await compile(ebnf);
  return ebnf;
}

async function compile(text: string): Promise<CompiledGrammar> {
  const { ebnf } = splitCounts(text);
  let entry = compiled.get(ebnf);
  if (entry === undefined) {
    printed.length = 0;
    const grammar = await xgrammar.Grammar.fromEBNF(withDistinctEnds(ebnf));
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

/** Some grammars compile but match nothing, or hang at first use. */
async function requireText(grammar: CompiledGrammar): Promise<void> {
  const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
  const mask = await matcher.getNextTokenBitmask();
  matcher.dispose();
  if (isEmpty(mask)) throw new Error('the grammar allows no text at all');
}

async function matcherOf(text: string): Promise<TokenMatcher> {
  const grammar = await compile(text);
  const matcher = await xgrammar.GrammarMatcher.createGrammarMatcher(grammar);
  const { counts } = splitCounts(text);
  if (counts === null) return matcher;
  countedTokens ??= new CountedTokens(tokens);
  return new CountedMatcher(matcher, countedTokens, counts);
}

/** Nothing may follow: a rule of the grammar that the text has come to has no end, and no way on. */
function isEmpty(mask: Int32Array): boolean {
  return mask.every((word) => word === 0);
}

async function open(
  id: number,
  ebnf: string,
  tokenIds: Int32Array,
  data: SharedMatchData,
): Promise<void> {
  const match = new SharedMatch(data);
  try {
    const matcher = await matcherOf(ebnf);
    const opened: Matcher = { matcher, match, numTokens: 0, forced: '', isLost: false };
    matchers.set(id, opened);
    await match.work(async () => {
      for (const tokenId of tokenIds) acceptToken(opened, tokenId);
      await publish(opened, true);
    });
  } catch {
    match.publishMask(0, tokenIds.length, null);
  }
}

async function accept(
  accepted: readonly (readonly [number, number])[],
  looksAhead: boolean,
): Promise<void> {
  const failed = new Set<Matcher>();
  const advanced = new Set<Matcher>();
  for (const [id, tokenId] of accepted) {
    const opened = matchers.get(id);
    if (opened === undefined) continue;
    advanced.add(opened);
    try {
      await opened.match.work(async () => acceptToken(opened, tokenId));
    } catch {
      failed.add(opened);
    }
  }
  for (const opened of advanced) {
    try {
      if (!failed.has(opened)) await opened.match.work(() => publish(opened, looksAhead));
    } catch {
      failed.add(opened);
    }
    if (failed.has(opened)) opened.match.publishMask(0, opened.numTokens, null);
  }
}

function acceptToken(opened: Matcher, tokenId: number): void {
  opened.numTokens += 1;
  if (opened.isLost || !opened.matcher.acceptToken(tokenId))
    throw new Error(`token ${tokenId} was refused`);
  const text = tokens[tokenId] ?? '';
  opened.forced = opened.forced.startsWith(text) ? opened.forced.slice(text.length) : '';
}

async function publish(opened: Matcher, looksAhead: boolean): Promise<void> {
  const { matcher, match, numTokens } = opened;
  // After the end of the text nothing is sampled any more.
  if (matcher.isTerminated()) return;
  const mask = await matcher.getNextTokenBitmask();
  match.publishMask(0, numTokens, isEmpty(mask) ? null : mask);
  const { maxDraftTokens } = match.data;
  if (maxDraftTokens === 0 || !looksAhead) return;
  opened.forced ||= await forcedText(matcher, tokens, mask, maxDraftTokens);
  match.publishForced(numTokens, bytePairs.encode(opened.forced).slice(0, maxDraftTokens));
}

/** The masks after each token of a draft, as far as the grammar allows it. */
async function publishBehind(id: number, number: number, draft: Int32Array): Promise<void> {
  const opened = matchers.get(id);
  if (opened === undefined) return;
  const { matcher, match } = opened;
  let numAccepted = 0;
  try {
    for (const tokenId of draft) {
      if (!matcher.acceptToken(tokenId)) break;
      numAccepted++;
      if (matcher.isTerminated()) break;
      const mask = await matcher.getNextTokenBitmask();
      match.publishMask(numAccepted, number, isEmpty(mask) ? null : mask);
    }
    if (numAccepted > 0) matcher.rollBack(numAccepted);
  } catch {
    opened.isLost = true;
    match.publishMask(1, number, null);
  }
}

/** The library's message, without names of source files and the stack. */
function reasonOf(error: unknown): string {
  if (memory.isExhausted) {
    memory.isExhausted = false;
    return `the grammar takes more than ${LIMITS.grammarMemoryBytes / 2 ** 20} MB to compile`;
  }
  const said = printed.find((line) => line.includes('[FATAL]'));
  if (said === undefined) return error instanceof Error ? error.message : String(error);
  const reason = said
    .replace(/^.*?\[FATAL\]\s*\S+:\d+:\s*/s, '')
    .replace(/^Check failed: \(.*?\) is (false|true): /s, '');
  return told(reason, 300);
}
