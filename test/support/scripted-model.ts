/**
 * A checkpoint that says what a script has, one text a turn: a real decoder of one layer, which the server
 * builds, batches and caches like any other. The chat template writes a mark before each answer, the number of
 * the answers before it. The only layer looks for the last mark among the cached keys, and so knows the turn;
 * its MLP knows which token follows the last one in that turn's text.
 *
 * Its tokenizer is the embedded model's, with the texts' pieces as tokens of their own. So an answer that
 * comes back in a prompt has the same tokens again.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { floatTensor, type RawTensor, writeSafetensors } from './safetensors-writer.ts';

const SUMMIT = 'models/summit';
const END_OF_TEXT = '<|im_end|>';
const OPENING = '<|im_start|>assistant\\n';
/** Also the most turns: a value of a head says which one it is. */
const HEAD_DIM = 64;
const EPSILON = 1e-6;
/** Inputs of an MLP's gate: far from 0 on either side. */
const STEEPNESS = 80;
/** Scale of logits: more than any temperature makes up for. */
const GAIN = 16;
/** Attention scores: of the first mark over all other tokens, and of each mark over the one before. */
const SCORE = 40;
const SCORE_STEP = 15;

export interface Script {
  /** Texts of the model's first turn, the second, and so on; the last goes for all that follow. */
  readonly turns: readonly string[];
  /** Text where it has no tools; the same if left out. */
  readonly withoutTools?: string;
}

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
}

interface TokenizerFile {
  added_tokens: AddedToken[];
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
}

/** Writes it as a folder of Hugging Face's kind. @throws Error for texts that it can't tell apart */
export async function writeScriptedModel(
  folder: string,
  { turns, withoutTools }: Script,
): Promise<void> {
  const texts = withoutTools === undefined ? turns : [...turns, withoutTools];
  if (texts.length > HEAD_DIM) throw new Error(`a script has ${HEAD_DIM} turns at most`);
  const cut = texts.map((text) => cutText(text, pieceLength(texts)));
  const tokenizer = JSON.parse(
    await readFile(join(SUMMIT, 'tokenizer.json'), 'utf8'),
  ) as TokenizerFile;
  const endId = tokenizer.model.vocab[END_OF_TEXT] ?? -1;
  // Marks of turns and pieces of texts; what the embedded model calls tools with is text here.
  const marks = texts.map((_, turn) => markOf(turn));
  const contents = [...new Set([...marks, ...cut.flat()])];
  const firstId = Object.keys(tokenizer.model.vocab).length;
  const idOf = new Map(contents.map((content, index) => [content, firstId + index]));
  const special = tokenizer.added_tokens.filter((token) => token.special);
  const added = contents.map((content, index) => ({
    id: firstId + index,
    content,
    special: index < marks.length,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  }));
  const chains = cut.map((pieces, turn) =>
    [markOf(turn), ...pieces].map((text) => idOf.get(text) ?? 0),
  );
  const { config, tensors } = decoder(firstId, firstId + contents.length, endId, chains);
  const own = await readFile(join(SUMMIT, 'tokenizer_config.json'), 'utf8');
  const { chat_template: template, ...others } = JSON.parse(own) as { chat_template: string };
  await mkdir(folder, { recursive: true });
  await Promise.all([
    writeJson(folder, 'config.json', config),
    writeJson(folder, 'tokenizer.json', { ...tokenizer, added_tokens: [...special, ...added] }),
    writeJson(folder, 'tokenizer_config.json', {
      ...others,
      added_tokens_decoder: {},
      chat_template: withMarks(template, turns.length, withoutTools !== undefined),
    }),
    writeSafetensors(join(folder, 'model.safetensors'), tensors),
  ]);
}

function writeJson(folder: string, file: string, content: object): Promise<void> {
  return writeFile(join(folder, file), JSON.stringify(content));
}

function markOf(turn: number): string {
  return `<|turn_${turn}|>`;
}

/** In pieces of so many characters: a tokenizer that looks for the longest finds the same. */
function cutText(text: string, length: number): string[] {
  return text.match(new RegExp(`[^]{1,${length}}`, 'gu')) ?? [];
}

/** The least at which no text has a piece twice. */
function pieceLength(texts: readonly string[]): number {
  for (let length = 4; length < 32; length++) {
    const cuts = texts.map((text) => cutText(text, length));
    if (cuts.every((pieces) => new Set(pieces).size === pieces.length)) return length;
  }
  throw new Error('a text of the script repeats itself');
}

/** The template, with a mark at the beginning of each answer. */
function withMarks(template: string, numTurns: number, hasOwnWithoutTools: boolean): string {
  const marks = JSON.stringify(Array.from({ length: numTurns }, (_, turn) => markOf(turn)));
  const turn = `${marks}[count.answers if count.answers < ${numTurns} else -1]`;
  const mark = hasOwnWithoutTools ? `(${turn} if tools else '${markOf(numTurns)}')` : turn;
  const opening = `{{- '${OPENING}' }}`;
  const [before, between, after, ...more] = template.split(opening);
  if (after === undefined || more.length > 0) throw new Error('the template is not what it was');
  return [
    `{%- set count = namespace(answers=0) %}${before}`,
    `{{- '${OPENING}' + ${mark} }}{%- set count.answers = count.answers + 1 %}${between}`,
    `{{- '${OPENING}' + ${mark} }}${after}`,
  ].join('');
}

/**
 * A hidden state has places for the last token, for the turn, and for the next token. The embedding fills the
 * first, attention the second. Each unit of the MLP stands for one token of one turn's text: with both it
 * fills the place of the token that follows, which the head reads.
 */
function decoder(firstId: number, vocabSize: number, endId: number, chains: readonly number[][]) {
  const numOwn = vocabSize - firstId;
  const turnPlace = (turn: number) => numOwn + turn;
  const nextPlace = (tokenId: number) =>
    numOwn + chains.length + (tokenId === endId ? numOwn : tokenId - firstId);
  const hidden = roundUp(2 * numOwn + 1 + chains.length);
  const units = chains.flatMap((chain, turn) =>
    chain.map((tokenId, index) => ({ turn, tokenId, next: chain[index + 1] ?? endId })),
  );
  const intermediate = roundUp(units.length);
  const embedding = new Matrix(vocabSize, hidden);
  const head = new Matrix(vocabSize, hidden);
  for (let tokenId = firstId; tokenId < vocabSize; tokenId++) {
    embedding.set(tokenId, tokenId - firstId, 1);
    head.set(tokenId, nextPlace(tokenId), GAIN);
  }
  head.set(endId, nextPlace(endId), GAIN);
  // A norm makes this of a state with one place filled, and less of each where two are.
  const alone = Math.sqrt(hidden);
  const query = new Matrix(1, HEAD_DIM);
  query.set(0, 0, 1);
  const key = new Matrix(HEAD_DIM, hidden);
  const value = new Matrix(HEAD_DIM, hidden);
  const output = new Matrix(hidden, HEAD_DIM);
  for (const [turn, [mark = 0]] of chains.entries()) {
    key.set(0, mark - firstId, ((SCORE + SCORE_STEP * turn) * Math.sqrt(HEAD_DIM)) / alone);
    value.set(turn, mark - firstId, 1 / alone);
    output.set(turnPlace(turn), turn, 1);
  }
  const gate = new Matrix(intermediate, hidden);
  const gateBias = new Matrix(1, intermediate);
  const up = new Matrix(1, intermediate);
  const down = new Matrix(hidden, intermediate);
  for (const [unit, { turn, tokenId, next }] of units.entries()) {
    gate.set(unit, tokenId - firstId, STEEPNESS / alone);
    gate.set(unit, turnPlace(turn), STEEPNESS / alone);
    // Between one place alone, and the sum of two.
    gateBias.set(0, unit, (-STEEPNESS * (1 + Math.SQRT2)) / 2);
    up.set(0, unit, 1);
    down.set(nextPlace(next), unit, 1);
  }
  const layer = 'model.layers.0';
  const attention = `${layer}.self_attn`;
  const zeros = (length: number) => new Matrix(1, length).vector();
  const ones = floatTensor([hidden], new Float32Array(hidden).fill(1));
  const tensors: Record<string, RawTensor> = {
    'model.embed_tokens.weight': embedding.tensor(),
    [`${layer}.input_layernorm.weight`]: ones,
    [`${attention}.q_proj.weight`]: new Matrix(HEAD_DIM, hidden).tensor(),
    [`${attention}.q_proj.bias`]: query.vector(),
    [`${attention}.k_proj.weight`]: key.tensor(),
    [`${attention}.k_proj.bias`]: zeros(HEAD_DIM),
    [`${attention}.v_proj.weight`]: value.tensor(),
    [`${attention}.v_proj.bias`]: zeros(HEAD_DIM),
    [`${attention}.o_proj.weight`]: output.tensor(),
    [`${attention}.o_proj.bias`]: zeros(hidden),
    [`${layer}.post_attention_layernorm.weight`]: ones,
    [`${layer}.mlp.gate_proj.weight`]: gate.tensor(),
    [`${layer}.mlp.gate_proj.bias`]: gateBias.vector(),
    [`${layer}.mlp.up_proj.weight`]: new Matrix(intermediate, hidden).tensor(),
    [`${layer}.mlp.up_proj.bias`]: up.vector(),
    [`${layer}.mlp.down_proj.weight`]: down.tensor(),
    [`${layer}.mlp.down_proj.bias`]: zeros(hidden),
    'model.norm.weight': ones,
    'lm_head.weight': head.tensor(),
  };
  const config = {
    // The family whose layers may do without rotary embedding: a mark is found however far away it is.
    model_type: 'smollm3',
    architectures: ['SmolLM3ForCausalLM'],
    no_rope_layers: [0],
    vocab_size: vocabSize,
    hidden_size: hidden,
    intermediate_size: intermediate,
    num_hidden_layers: 1,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    head_dim: HEAD_DIM,
    attention_bias: true,
    mlp_bias: true,
    hidden_act: 'silu',
    max_position_embeddings: 131_072,
    rms_norm_eps: EPSILON,
    rope_theta: 10_000,
    tie_word_embeddings: false,
    eos_token_id: endId,
  };
  return { config, tensors };
}

function roundUp(length: number): number {
  return 64 * Math.ceil(length / 64);
}

class Matrix {
  readonly #shape: readonly [number, number];
  readonly #values: Float32Array;

  constructor(rows: number, columns: number) {
    this.#shape = [rows, columns];
    this.#values = new Float32Array(rows * columns);
  }

  set(row: number, column: number, value: number): void {
    this.#values[row * this.#shape[1] + column] = value;
  }

  tensor(): RawTensor {
    return floatTensor(this.#shape, this.#values);
  }

  vector(): RawTensor {
    return floatTensor([this.#values.length], this.#values);
  }
}
