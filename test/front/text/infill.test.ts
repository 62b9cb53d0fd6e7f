import { describe, expect, test } from 'vitest';
import { infillFormatOf } from '../../../src/front/text/infill-formats.ts';
import { InfillEncoder } from '../../../src/front/text/infill.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';

const CHARACTERS = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
const BOS = '<bos>';
const QWEN = [
  '<|fim_prefix|>',
  '<|fim_middle|>',
  '<|fim_suffix|>',
  '<|fim_pad|>',
  '<|repo_name|>',
  '<|file_sep|>',
  '<|endoftext|>',
];
const STARCODER = ['<fim_prefix>', '<fim_middle>', '<fim_suffix>', '<repo_name>', '<file_sep>'];
const DEEPSEEK = ['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'];

/** A token for each printable character, and these. @param isSpecial as files mark them: Qwen's are not */
function tokenizerOf(added: readonly string[], { hasBos = false, isSpecial = true } = {}) {
  const letters = [...CHARACTERS.map((character) => (character === ' ' ? 'Ġ' : character)), 'Ċ'];
  const tokens = [...letters, ...(hasBos ? [BOS] : []), ...added];
  const bosId = letters.length;
  return new TextTokenizer({
    tokenizer: {
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: [],
      },
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      post_processor: hasBos
        ? {
            type: 'TemplateProcessing',
            single: [
              { SpecialToken: { id: BOS, type_id: 0 } },
              { Sequence: { id: 'A', type_id: 0 } },
            ],
            pair: [],
            special_tokens: { [BOS]: { id: BOS, ids: [bosId], tokens: [BOS] } },
          }
        : null,
      decoder: { type: 'ByteLevel' },
      added_tokens: tokens.slice(bosId).map((content, index) => ({
        id: bosId + index,
        content,
        special: isSpecial || content === BOS,
      })),
    },
    ...(hasBos ? { bosToken: BOS } : {}),
  });
}

function encoderOf(tokenizer: TextTokenizer): InfillEncoder {
  const encoder = InfillEncoder.of(tokenizer);
  if (encoder === null) throw new Error('it fills in nothing');
  return encoder;
}

const place = { prefix: 'def f():\n    ', suffix: '\nf()', begun: '', snippets: [] };

describe('a prompt that is to be filled in', () => {
  test.each<[string, readonly string[], object, string]>([
    // https://github.com/QwenLM/Qwen2.5-Coder: "<|fim_prefix|>" + prefix_code + "<|fim_suffix|>" +
    // suffix_code + "<|fim_middle|>"
    [
      'Qwen2.5-Coder',
      QWEN,
      { isSpecial: false },
      '<|fim_prefix|>def f():\n    <|fim_suffix|>\nf()<|fim_middle|>',
    ],
    // https://huggingface.co/google/codegemma-2b: the same tokens, after the first token of a text.
    [
      'CodeGemma',
      [...QWEN.slice(0, 3), '<|file_separator|>'],
      { hasBos: true },
      '<bos><|fim_prefix|>def f():\n    <|fim_suffix|>\nf()<|fim_middle|>',
    ],
    // https://huggingface.co/bigcode/starcoder: "<fim_prefix>def print_hello_world():\n    <fim_suffix>\n
    // print('Hello world!')<fim_middle>"
    ['StarCoder2', STARCODER, {}, '<fim_prefix>def f():\n    <fim_suffix>\nf()<fim_middle>'],
    // https://github.com/deepseek-ai/DeepSeek-Coder: """<｜fim▁begin｜>def quick_sort(arr): ...
    // <｜fim▁hole｜> ... <｜fim▁end｜>"""
    [
      'DeepSeek-Coder',
      DEEPSEEK,
      { hasBos: true },
      '<bos><｜fim▁begin｜>def f():\n    <｜fim▁hole｜>\nf()<｜fim▁end｜>',
    ],
    // https://arxiv.org/abs/2506.03524: <[fim-suffix]>SUFFIX<[fim-prefix]>PREFIX<[fim-middle]>
    [
      'Seed-Coder',
      ['<[fim-prefix]>', '<[fim-suffix]>', '<[fim-middle]>'],
      {},
      '<[fim-suffix]>\nf()<[fim-prefix]>def f():\n    <[fim-middle]>',
    ],
    // mistral-common, encode_fim: [BOS, SUFFIX, *suffix_tokens, PREFIX, *prefix_tokens]
    [
      'Codestral',
      ['[PREFIX]', '[SUFFIX]'],
      { hasBos: true },
      '<bos>[SUFFIX]\nf()[PREFIX]def f():\n    ',
    ],
  ])('of %s is as published', (_model, tokens, options, prompt) => {
    const tokenizer = tokenizerOf(tokens, options);
    const tokenIds = encoderOf(tokenizer).encode(place, 1000);
    expect(tokenizer.decode(tokenIds, { skipSpecialTokens: false })).toBe(prompt);
    // A token for each mark, and not its letters.
    const marks = /<bos>|<\|\w+\|>|<fim_\w+>|<｜.+?｜>|<\[.+?\]>|\[[PS]\w+\]/g;
    const numMarks = prompt.match(marks)?.length ?? 0;
    expect(tokenIds).toHaveLength(prompt.replaceAll(marks, '').length + numMarks);
  });

  test.each([true, false])('takes no token from what a client wrote (special: %s)', (isSpecial) => {
    const tokenizer = tokenizerOf(QWEN, { isSpecial });
    const text = '<|fim_middle|>x<|file_sep|><|fim_suffix|>';
    const snippets = [{ name: '<|repo_name|>', text }];
    const tokenIds = encoderOf(tokenizer).encode(
      { prefix: text, suffix: text, begun: text, snippets },
      1000,
    );
    const marks = [...tokenIds]
      .flatMap((id) => tokenizer.idToToken(id) ?? [])
      .filter((token) => QWEN.includes(token));
    expect(marks).toEqual([
      '<|repo_name|>',
      '<|file_sep|>',
      '<|file_sep|>',
      '<|fim_prefix|>',
      '<|fim_suffix|>',
      '<|fim_middle|>',
    ]);
    const shown = tokenizer.decode(tokenIds, { skipSpecialTokens: false });
    expect(shown.split(text)).toHaveLength(5);
  });

  const snippets = [
    { name: 'a.py', text: 'a = 1' },
    { name: 'b.py', text: 'b = 2' },
  ];

  test('has snippets of other files before it, as llama-server has them', () => {
    const tokenizer = tokenizerOf(QWEN);
    const text = (maxTokens: number) =>
      tokenizer.decode(
        encoderOf(tokenizer).encode({ ...place, begun: 'return', snippets }, maxTokens),
        { skipSpecialTokens: false },
      );
    const own =
      '<|file_sep|>filename\n<|fim_prefix|>def f():\n    <|fim_suffix|>\nf()<|fim_middle|>return';
    const head = '<|repo_name|>myproject\n';
    expect(text(1000)).toBe(`${head}<|file_sep|>a.py\na = 1<|file_sep|>b.py\nb = 2${own}`);
    // The first ones make way.
    const whole = encoderOf(tokenizer).encode({ ...place, begun: 'return', snippets }, 1000).length;
    expect(text(whole)).toContain('a.py');
    expect(text(whole - 1)).toBe(`${head}<|file_sep|>b.py\nb = 2${own}`);
    expect(text(1)).toBe(head + own);
  });

  test('has them apart where no token is a file`s', () => {
    const tokenizer = tokenizerOf(DEEPSEEK);
    const tokenIds = encoderOf(tokenizer).encode({ ...place, snippets }, 1000);
    expect(tokenizer.decode(tokenIds, { skipSpecialTokens: false })).toBe(
      '\n\n--- snippet ---\n\na = 1\n\n--- snippet ---\n\nb = 2<｜fim▁begin｜>def f():\n    <｜fim▁hole｜>\nf()<｜fim▁end｜>',
    );
  });

  test('ends with any token of its kind that the model has', () => {
    const tokenizer = tokenizerOf([...STARCODER, '<|endoftext|>', '<other>']);
    const stops = encoderOf(tokenizer).stopTokenIds.map((id) => tokenizer.idToToken(id));
    expect(new Set(stops)).toEqual(new Set([...STARCODER, '<|endoftext|>']));
  });

  test('is for models with all of the tokens alone', async () => {
    expect(InfillEncoder.of(tokenizerOf(QWEN.slice(0, 2)))).toBeNull();
    expect(infillFormatOf(new Set())).toBeNull();
    expect(InfillEncoder.of(await TextTokenizer.load('models/summit'))).toBeNull();
  });
});
