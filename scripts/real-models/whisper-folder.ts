/**
 * Makes a folder as Transformers has it of a Whisper in CTranslate2's format, which is the one that registries'
 * packages have: the same float16 numbers under other names.
 */
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { WhisperFiles } from './models.ts';

interface Tensor {
  readonly dims: readonly number[];
  readonly data: Buffer;
}

/** CTranslate2's number of float16. */
const FLOAT16 = 4;
/** Names of a layer's parts: CTranslate2's, and Transformers', which has some of them in pieces. */
const ATTENTION = ['q_proj', 'k_proj', 'v_proj'];
const LINEARS: Readonly<Record<string, readonly string[]>> = {
  'self_attention/linear_0': ATTENTION.map((part) => `self_attn.${part}`),
  'self_attention/linear_1': ['self_attn.out_proj'],
  'attention/linear_0': ['encoder_attn.q_proj'],
  'attention/linear_1': ['encoder_attn.k_proj', 'encoder_attn.v_proj'],
  'attention/linear_2': ['encoder_attn.out_proj'],
  'ffn/linear_0': ['fc1'],
  'ffn/linear_1': ['fc2'],
};
const NORMS: Readonly<Record<string, string>> = {
  'self_attention/layer_norm': 'self_attn_layer_norm',
  'attention/layer_norm': 'encoder_attn_layer_norm',
  'ffn/layer_norm': 'final_layer_norm',
};

const ids = z.array(z.int());
const ctranslateConfig = z.looseObject({
  alignment_heads: z.array(z.tuple([z.int(), z.int()])),
  suppress_ids: ids,
  suppress_ids_begin: ids,
});
const tokenizerFile = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string() })),
});

/** Tensors by name, and those of one number by their value. */
function readTensors(file: Buffer): Map<string, Tensor> {
  let at = 0;
  const take = (length: number): Buffer => file.subarray(at, (at += length));
  const uint32 = (): number => take(4).readUInt32LE();
  const text = (): string => take(take(2).readUInt16LE()).toString().replace(/\0$/, '');
  uint32();
  if (text() !== 'WhisperSpec') throw new Error('the file is not of a Whisper');
  uint32();
  const tensors = new Map<string, Tensor>();
  for (let left = uint32(); left > 0; left--) {
    const name = text();
    const dims = Array.from({ length: take(1).readUInt8() }, uint32);
    const type = take(1).readUInt8();
    const data = take(uint32());
    if (dims.length > 0 && type !== FLOAT16) throw new Error(`${name} is not of float16`);
    tensors.set(name, { dims, data });
  }
  return tensors;
}

/** The same under Transformers' names. */
function renamed(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const made = new Map<string, Tensor>();
  for (const [name, tensor] of tensors) {
    if (tensor.dims.length === 0) continue;
    const [part = '', ...rest] = name.split('/');
    const first = rest.slice(0, -1).join('/');
    const leaf = rest.at(-1) ?? '';
    const suffix = { gamma: 'weight', beta: 'bias' }[leaf] ?? leaf;
    const layer = /^layer_(?<index>\d+)\/(?<kind>.*)$/.exec(first)?.groups;
    const prefix = `model.${part}`;
    if (layer === undefined) {
      const own =
        { embeddings: 'embed_tokens', position_encodings: 'embed_positions' }[first] ?? first;
      made.set(`${prefix}.${own}.${leaf === 'encodings' ? 'weight' : suffix}`, tensor);
      continue;
    }
    const { index = '', kind = '' } = layer;
    const parts = LINEARS[kind] ?? [NORMS[kind] ?? ''];
    for (const [place, piece] of split(tensor, parts.length).entries()) {
      const target = `${parts[place]}.${suffix}`;
      // Keys have no bias: those are zeros.
      if (!target.endsWith('k_proj.bias')) made.set(`${prefix}.layers.${index}.${target}`, piece);
    }
  }
  return made;
}

function split({ dims: [rows = 0, ...rest], data }: Tensor, count: number): Tensor[] {
  const bytes = data.length / count;
  return Array.from({ length: count }, (_, at) => ({
    dims: [rows / count, ...rest],
    data: data.subarray(at * bytes, (at + 1) * bytes),
  }));
}

function safetensors(tensors: ReadonlyMap<string, Tensor>): Buffer {
  let end = 0;
  const entries = [...tensors].map(([name, { dims, data }]) => {
    const start = end;
    end += data.length;
    return [name, { dtype: 'F16', shape: dims, data_offsets: [start, end] }] as const;
  });
  const json = JSON.stringify({ __metadata__: { format: 'pt' }, ...Object.fromEntries(entries) });
  const head = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(head.length));
  return Buffer.concat([length, head, ...[...tensors.values()].map(({ data }) => data)]);
}

/**
 * @param from folder that the files are in
 * @param into folder to make
 */
export async function makeWhisperFolder(
  from: string,
  { folder, model }: WhisperFiles,
  into: string,
): Promise<void> {
  const json = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(from, folder, name), 'utf8'));
  const pieces = await Promise.all(model.map((name) => readFile(join(from, name))));
  const tensors = readTensors(Buffer.concat(pieces));
  const named = renamed(tensors);
  const known = ctranslateConfig.parse(await json('config.json'));
  const { added_tokens: added } = tokenizerFile.parse(await json('tokenizer.json'));
  const idOf = (content: string) => added.find((each) => each.content === content)?.id ?? 0;
  const dimsOf = (name: string) => named.get(`model.${name}`)?.dims ?? [];
  const heads = (part: string) => tensors.get(`${part}/num_heads`)?.data.readInt16LE() ?? 0;
  const layers = (part: string) =>
    new Set(
      [...named.keys()].flatMap(
        (name) => name.split(`model.${part}.layers.`)[1]?.split('.')[0] ?? [],
      ),
    ).size;
  const [vocabSize = 0, width] = dimsOf('decoder.embed_tokens.weight');
  const [, mels] = dimsOf('encoder.conv1.weight');
  const end = idOf('<|endoftext|>');
  const start = idOf('<|startoftranscript|>');
  const isMultilingual = vocabSize !== 51_864;
  const shared = {
    bos_token_id: end,
    eos_token_id: end,
    pad_token_id: end,
    decoder_start_token_id: start,
  };
  const config = {
    ...shared,
    architectures: ['WhisperForConditionalGeneration'],
    model_type: 'whisper',
    activation_function: 'gelu',
    vocab_size: vocabSize,
    num_mel_bins: mels,
    d_model: width,
    encoder_layers: layers('encoder'),
    decoder_layers: layers('decoder'),
    encoder_attention_heads: heads('encoder'),
    decoder_attention_heads: heads('decoder'),
    encoder_ffn_dim: dimsOf('encoder.layers.0.fc1.bias')[0],
    decoder_ffn_dim: dimsOf('decoder.layers.0.fc1.bias')[0],
    max_source_positions: dimsOf('encoder.embed_positions.weight')[0],
    max_target_positions: dimsOf('decoder.embed_positions.weight')[0],
    scale_embedding: false,
  };
  const languages = added.filter(({ content }) => /^<\|[a-z]{2,3}\|>$/.test(content));
  const generation = {
    ...shared,
    alignment_heads: known.alignment_heads,
    suppress_tokens: known.suppress_ids,
    begin_suppress_tokens: known.suppress_ids_begin,
    is_multilingual: isMultilingual,
    max_initial_timestamp_index: 50,
    max_length: 448,
    no_timestamps_token_id: idOf('<|notimestamps|>'),
    prev_sot_token_id: idOf('<|startofprev|>'),
    return_timestamps: false,
    ...(isMultilingual && {
      lang_to_id: Object.fromEntries(languages.map(({ id, content }) => [content, id])),
      task_to_id: { transcribe: idOf('<|transcribe|>'), translate: idOf('<|translate|>') },
    }),
  };
  const tokenizer = {
    tokenizer_class: 'WhisperTokenizer',
    bos_token: '<|endoftext|>',
    eos_token: '<|endoftext|>',
    unk_token: '<|endoftext|>',
    pad_token: '<|endoftext|>',
    add_prefix_space: false,
    model_max_length: 448,
  };
  await mkdir(into, { recursive: true });
  await writeFile(join(into, 'model.safetensors'), safetensors(named));
  await copyFile(join(from, folder, 'tokenizer.json'), join(into, 'tokenizer.json'));
  const files = { config, generation_config: generation, tokenizer_config: tokenizer };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(into, `${name}.json`), `${JSON.stringify(content, null, 1)}\n`);
  }
}
